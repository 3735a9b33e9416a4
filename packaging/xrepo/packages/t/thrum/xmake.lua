package("thrum")
    set_kind("library", {headeronly = true})
    set_homepage("@homepage@")
    set_description("Go's scheduler as a header-only C++20 library: goroutines, channels, select.")
    set_license("MIT")

    add_urls("@folder@/thrum-$(version).tar.gz")
    add_versions("@version@", "@sha256@")

    if is_plat("linux", "bsd") then
        add_syslinks("pthread")
    elseif is_plat("mingw") then
        add_syslinks("ws2_32", "iphlpapi", "ntdll")
    end
    if is_arch("riscv.*") then
        add_syslinks("atomic")
    end

    on_load(function (package)
        -- A large frame touches its pages one by one, so that it meets the guard below a stack.
        if package:has_tool("cxx", "gcc", "gxx") and package:is_plat("linux") then
            package:add("cxxflags", "-fstack-clash-protection")
        end
    end)

    on_install("linux", "macosx", "bsd", "mingw", function (package)
        os.cp("include", package:installdir())
    end)

    on_test(function (package)
        assert(package:check_cxxsnippets({test = [[
            int test() {
                return thrum::run([] { return thrum::spawn([] { return 0; }).join(); });
            }
        ]]}, {configs = {languages = "c++20"}, includes = "thrum.hpp"}))
    end)
