from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get
from conan.tools.layout import basic_layout
from conan.tools.scm import Version
import os

required_conan_version = ">=2.1"


class ThrumConan(ConanFile):
    name = "thrum"
    description = "Go's scheduler as a header-only C++20 library: goroutines, channels, select"
    license = "MIT"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "@homepage@"
    topics = ("goroutine", "fiber", "scheduler", "channel", "concurrency", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"tls": [True, False]}
    default_options = {"tls": False}
    no_copy_source = True

    @property
    def _oldest_compilers(self):
        return {"gcc": "11", "clang": "14", "apple-clang": "15"}

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        if self.options.tls:
            self.requires("openssl/[>=3 <4]", transitive_headers=True, transitive_libs=True)

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os not in ("Linux", "Macos", "FreeBSD", "Windows"):
            raise ConanInvalidConfiguration(f"{self.ref} does not support {self.settings.os}")
        compiler = str(self.settings.compiler)
        if compiler == "msvc" or self.settings.get_safe("compiler.runtime"):
            raise ConanInvalidConfiguration(f"{self.ref} needs MinGW's C++ library on Windows, not Microsoft's")
        oldest = self._oldest_compilers.get(compiler)
        if oldest and Version(self.settings.compiler.version) < oldest:
            raise ConanInvalidConfiguration(f"{self.ref} needs {compiler} {oldest} or newer")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        copy(self, "thrum-gdb.py", os.path.join(self.source_folder, "tools", "gdb"),
             os.path.join(self.package_folder, "share", "thrum", "gdb"))
        for file in ("separate.cmake", "implementation.cpp"):
            copy(self, file, os.path.join(self.source_folder, "cmake"), os.path.join(self.package_folder, "share", "cmake", "thrum"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "thrum")
        # Makes thrum::separate in the project that finds the package, with that project's options.
        self.cpp_info.set_property("cmake_build_modules", [os.path.join("share", "cmake", "thrum", "separate.cmake")])
        core = self.cpp_info.components["core"]
        core.bindirs = []
        core.libdirs = []
        core.set_property("cmake_target_name", "thrum::thrum")
        core.set_property("pkg_config_name", "thrum")
        if self.settings.os in ("Linux", "FreeBSD"):
            core.system_libs.append("pthread")
        if self.settings.os == "Linux" and self.settings.compiler == "gcc":
            # A large frame touches its pages one by one, so that it meets the guard below a stack.
            core.cxxflags.append("-fstack-clash-protection")
        if self.settings.os == "Windows":
            core.system_libs.extend(["ws2_32", "iphlpapi", "ntdll"])
        if str(self.settings.arch).startswith("riscv"):
            core.system_libs.append("atomic")
        if self.options.tls:
            tls = self.cpp_info.components["tls"]
            tls.bindirs = []
            tls.libdirs = []
            tls.set_property("cmake_target_name", "thrum::tls")
            tls.set_property("pkg_config_name", "thrum-tls")
            tls.requires = ["core", "openssl::openssl"]
