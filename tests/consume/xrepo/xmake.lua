-- A user of xmake, with a repository of packages beside the official one.
add_repositories("thrum " .. os.getenv("THRUM_XREPO"))
add_requires("thrum")

target("app")
    set_kind("binary")
    set_languages("c++20")
    add_files("main.cpp")
    add_packages("thrum")
