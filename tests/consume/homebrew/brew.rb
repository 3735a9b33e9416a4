# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Installs a formula into ./prefix and tests it, with stand-ins for what Homebrew gives a formula, from its documentation.
#
#   ruby brew.rb FORMULA SOURCES
require "pathname"

class Formula
  SAID = {}
  %i[desc homepage url sha256 license depends_on].each do |name|
    define_singleton_method(name) { |value| SAID[name] = value }
  end
  def self.test(&block)
    block ? @test = block : @test
  end

  def prefix
    Pathname(HERE) / "prefix"
  end

  def include
    prefix / "include"
  end

  def testpath
    Pathname(HERE)
  end

  def std_cmake_args
    ["-DCMAKE_INSTALL_PREFIX=#{prefix}", "-DCMAKE_BUILD_TYPE=Release"]
  end

  def system(*words)
    Kernel.system(*words.map(&:to_s)) || abort("brew.rb: failed: #{words.join(" ")}")
  end
end

def ENV.cxx
  "c++"
end

HERE = Dir.pwd
load ARGV[0]
missing = %i[desc homepage url sha256 license] - Formula::SAID.keys
abort("brew.rb: the formula says no #{missing.join(", ")}") unless missing.empty?
formula = Thrum.new
Dir.chdir(ARGV[1]) { formula.install }
formula.instance_eval(&Thrum.test)
