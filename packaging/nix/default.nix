# A package for callPackage of nixpkgs.
{ stdenv, fetchurl, cmake, lib }:

stdenv.mkDerivation {
  pname = "thrum";
  version = "@version@";
  src = fetchurl {
    url = "@url@";
    sha256 = "@sha256@";
  };
  nativeBuildInputs = [ cmake ];
  meta = {
    description = "Go's scheduler as a header-only C++20 library";
    homepage = "@homepage@";
    license = lib.licenses.mit;
  };
}
