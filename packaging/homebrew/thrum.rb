class Thrum < Formula
  desc "Go's scheduler as a header-only C++20 library"
  homepage "@homepage@"
  url "@url@"
  sha256 "@sha256@"
  license "MIT"

  depends_on "cmake" => [:build, :test]

  def install
    system "cmake", "-S", ".", "-B", "build", *std_cmake_args
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"test.cpp").write <<~CPP
      #include <thrum.hpp>
      int main() {
        return thrum::run([] { return thrum::spawn([] { return 0; }).join(); });
      }
    CPP
    system ENV.cxx, "-std=c++20", "test.cpp", "-I#{include}", "-pthread", "-o", "test"
    system "./test"
  end
end
