#!/usr/bin/env bash
# Compile the kernels for other systems and processors by zig: building/cross.sh FOLDER [TARGET ...]
# Needs cmake, ninja and `pip install ziglang`. For Linux, FOLDER/TARGET/native.abi3.so is the module; for
# macOS and Windows, all is compiled but not linked: the libraries of these systems are not here.
set -uo pipefail
native=$(cd "$(dirname "${BASH_SOURCE[0]}")/../native" && pwd)
zig=$(python3 -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig
mkdir -p "$1" && cd "$1" && shift
targets=(
    x86_64-linux-gnu.2.17 x86_64-linux-musl aarch64-linux-gnu.2.17 aarch64-linux-musl x86_64-macos
    aarch64-macos x86_64-windows-gnu
)
failed=0
for target in "${@:-${targets[@]}}"; do
    case $target in
        *linux*) system=Linux ;; *macos*) system=Darwin ;; *) system=Windows ;;
    esac
    what=(baseline)
    case $target in x86_64*) what+=(avx2 avx512) ;; esac
    case $target in *linux*) what=(native) ;; esac
    CC="$zig cc" CXX="$zig c++" cmake -S "$native" -B "$target" -G Ninja \
        -DCMAKE_SYSTEM_NAME=$system -DCMAKE_SYSTEM_PROCESSOR="${target%%-*}" \
        -DCMAKE_C_FLAGS="-target $target -mcpu=baseline" \
        -DCMAKE_CXX_FLAGS="-target $target -mcpu=baseline -nostdlib++" >"$target.log" 2>&1 &&
        cmake --build "$target" --target "${what[@]}" >>"$target.log" 2>&1 && echo "$target compiled"
    [ $? = 0 ] || { echo "$target failed: see $PWD/$target.log"; failed=1; }
done
exit $failed
