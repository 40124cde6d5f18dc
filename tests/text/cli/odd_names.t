Names with any byte: JSON stays valid, and no name ends a comment of a generated header.
--- odd.lwp
program f {
    input `a\x0ab\x01`: f32[4]
    output `c\xff"\\`: f32[4]
    `c\xff"\\`: for `i\x0a` in 0:4
        `c\xff"\\`[`i\x0a`] = `a\x0ab\x01`[`i\x0a`]*2.0
}
$ for s in report tree stripe program; do loopwright show odd.lwp --stage $s --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["ok"])'; done
True
True
True
True
$ loopwright passes odd.lwp --machine avx2 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["ok"])'
True
$ loopwright compile odd.lwp --emit obj -o odd.o && cc -fsyntax-only -xc odd.h && echo compiles
compiles
