# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What the rules of vcpkg, xmake-repo and Bazel's modules ask of a package, as far as files show it: their tools are not at hand.

Sources: vcpkg's maintainer guide and its checklist for reviews (manifest, deprecated helpers, copyright, versions); the package
specification in xmake's documentation (names, metadata, checksums, the order of hooks). What a port of vcpkg installs is looked at by
tests/packages/vcpkg_layout.cmake.
"""
import ast
import json
import pathlib
import re
import subprocess

# In the order in which `vcpkg format-manifest` writes them.
MANIFEST = ["name", "version", "port-version", "maintainers", "description", "homepage", "documentation", "license", "supports",
            "dependencies", "features"]
DEPRECATED = ["vcpkg_extract_source_archive_ex", "vcpkg_apply_patches", "vcpkg_build_msbuild", "vcpkg_copy_tool_dependencies",
              "vcpkg_configure_cmake", "vcpkg_build_cmake", "vcpkg_install_cmake", "vcpkg_fixup_cmake_targets"]
HELPERS = {"vcpkg_cmake_config_fixup": "vcpkg-cmake-config", "vcpkg_cmake_configure": "vcpkg-cmake",
           "vcpkg_cmake_build": "vcpkg-cmake", "vcpkg_cmake_install": "vcpkg-cmake"}


def git_tree(folder, scratch):
    """The hash that git gives a folder: vcpkg's versions name a port by it."""
    def git(*arguments):
        return subprocess.run(["git", f"--git-dir={scratch}", f"--work-tree={folder}", *arguments],
                              check=True, capture_output=True, text=True).stdout.strip()
    git("init", "-q")
    git("add", "-A", ".")
    return git("write-tree")


def left_over(text):
    """Values that were not filled in."""
    return re.findall(r"@\w+@", text)


def vcpkg_errors(registry, name, version, tree):
    """What is wrong with a registry of one port whose folder git calls `tree`."""
    registry = pathlib.Path(registry)
    port = registry / "ports" / name
    text = (port / "vcpkg.json").read_text()
    manifest = json.loads(text)
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest.get("name", "")) or manifest["name"] != name:
        yield "vcpkg.json: the name is that of the folder, in small letters, digits and hyphens"
    for key in ("version", "description", "homepage", "license"):
        if not manifest.get(key):
            yield f"vcpkg.json: there is no {key}"
    known = [key for key in MANIFEST if key in manifest]
    if list(manifest) != known or text != json.dumps(manifest, indent=2) + "\n":
        yield "vcpkg.json is not as `vcpkg format-manifest` writes it: known keys, their order, two spaces, a line's end"
    needs = {each if isinstance(each, str) else each["name"]: each for each in manifest.get("dependencies", [])}
    if list(needs) != sorted(needs):
        yield "vcpkg.json: the dependencies are not in their order"
    file = (port / "portfile.cmake").read_text()
    for each in DEPRECATED:
        if re.search(rf"\b{each}\(", file):
            yield f"portfile.cmake: {each} is deprecated"
    for function, helper in HELPERS.items():
        if re.search(rf"\b{function}\(", file) and not (isinstance(needs.get(helper), dict) and needs[helper].get("host")):
            yield f"portfile.cmake: {function} wants the dependency {helper} of the host"
    if "vcpkg_install_copyright(" not in file:
        yield "portfile.cmake installs no copyright"
    if not re.search(r"SHA512 [0-9a-f]{128}$", file, flags=re.M):
        yield "portfile.cmake: no SHA512 of 128 digits"
    if "${VERSION}" not in file:
        yield "portfile.cmake does not take its version from the manifest"
    if "debug" not in file:
        yield "portfile.cmake of headers alone removes the debug folder"
    usage = port / "usage"
    if not usage.exists() or "find_package(" not in usage.read_text() or "usage" not in file:
        yield "usage: there is none that says find_package, or it is not installed"
    for path in (port / "vcpkg.json", port / "portfile.cmake"):
        for each in left_over(path.read_text()):
            yield f"{path.name}: {each} was not filled in"
    baseline = json.loads((registry / "versions/baseline.json").read_text())["default"].get(name, {})
    if baseline != {"baseline": version, "port-version": 0} or manifest.get("version") != version:
        yield "versions/baseline.json names another version than the manifest"
    entries = json.loads((registry / f"versions/{name[0]}-/{name}.json").read_text())["versions"]
    if not entries or entries[0].get("version") != version or entries[0].get("git-tree") != tree:
        yield f"versions/{name[0]}-/{name}.json does not have this version, or another folder for it"


def xrepo_errors(repository, name, version):
    """What is wrong with a repository of one package."""
    path = pathlib.Path(repository) / "packages" / name[0] / name / "xmake.lua"
    if not path.exists():
        yield f"there is no packages/{name[0]}/{name}/xmake.lua"
        return
    text = path.read_text()
    if not re.search(rf'^package\("{name}"\)$', text, flags=re.M) or not re.fullmatch(r"[a-z0-9_-]+", name):
        yield "xmake.lua: the package is not called as its folder, in small letters"
    if not re.search(r'set_kind\("library", \{headeronly = true\}\)', text):
        yield "xmake.lua: headers alone are set_kind(\"library\", {headeronly = true})"
    for each in ("set_homepage", "set_description", "set_license", "add_urls"):
        if not re.search(rf'{each}\("[^"]+"', text):
            yield f"xmake.lua: there is no {each}"
    if not re.search(rf'add_versions\("{re.escape(version)}", "[0-9a-f]{{64}}"\)', text):
        yield f"xmake.lua: no SHA-256 of 64 digits for {version}"
    if "$(version)" not in text:
        yield "xmake.lua: the address has no $(version)"
    if "on_install(" not in text:
        yield "xmake.lua: there is no on_install"
    tested = text[text.find("on_test("):] if "on_test(" in text else ""
    if not re.search(r"assert\(package:(?:check_cxxsnippets|has_cxxincludes|has_cxxtypes|has_cxxfuncs)\(", tested):
        yield "xmake.lua: no on_test that asserts something of the package"
    if "\t" in text or any((len(line) - len(line.lstrip(" "))) % 4 != 0 for line in text.split("\n")):
        yield "xmake.lua: it is not indented by fours of spaces"
    for each in left_over(text):
        yield f"xmake.lua: {each} was not filled in"


def bazel_calls(path):
    """The calls of a file for Bazel, which is Python as far as ours go: name, positional and named arguments."""
    for statement in ast.parse(path.read_text()).body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError(f"{path.name}: line {statement.lineno} is no call")
        yield call.func.id, call.args, {each.arg: each.value for each in call.keywords}


def bazel_errors(root):
    """What is wrong with MODULE.bazel and BUILD.bazel. The Bazel that tests/packages/packages.sh finds may be too old to read modules."""
    root = pathlib.Path(root)
    calls = list(bazel_calls(root / "MODULE.bazel"))
    if [ast.literal_eval(named["name"]) for name, _, named in calls if name == "module"] != ["thrum"]:
        yield "MODULE.bazel: there is no module(name = \"thrum\")"
    needs = {ast.literal_eval(named["name"]) for name, _, named in calls if name == "bazel_dep" and "version" in named}
    libraries = set()
    for name, positional, named in bazel_calls(root / "BUILD.bazel"):
        if name == "load":
            repository = re.match(r"@(\w+)//", ast.literal_eval(positional[0]))
            if not repository or repository[1] not in needs:
                yield f"BUILD.bazel loads {ast.literal_eval(positional[0])}, and MODULE.bazel has no bazel_dep of it"
        elif name == "cc_library":
            libraries.add(ast.literal_eval(named["name"]))
            for each in ast.literal_eval(named["srcs"]) if "srcs" in named else []:
                if not (root / each).is_file():
                    yield f"BUILD.bazel: there is no {each}"
    if not {"thrum", "separate", "tls"} <= libraries:
        yield "BUILD.bazel: the libraries are thrum, separate and tls"
