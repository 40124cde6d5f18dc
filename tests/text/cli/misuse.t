# Wrong command lines: status 2, what is wrong, and the nearest right thing.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
$ loopwright chekc mv.tc
--- stderr
loopwright: unknown command 'chekc'; did you mean 'check'?
`loopwright --help` lists the commands
--- exit 2
$ loopwright tun mv.tc
--- stderr
loopwright: unknown command 'tun'; did you mean 'tune'?
`loopwright --help` lists the commands
--- exit 2
$ loopwright frobnicate
--- stderr
loopwright: unknown command 'frobnicate'
`loopwright --help` lists the commands
--- exit 2
$ loopwright run mv.tc --siez M=4
--- stderr
loopwright run: unknown option '--siez'; did you mean '--size'?
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --size
--- stderr
loopwright run: --size needs a value, such as --size N=8,M=4
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --size M
--- stderr
loopwright run: --size takes NAME=VALUE, such as --size N=8,M=4, not 'M'
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --size M=4,K=three
--- stderr
loopwright run: --size K=three: not a whole number of 64 bits
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --size M=4,K=99999999999999999999
--- stderr
loopwright run: --size K=99999999999999999999: not a whole number of 64 bits
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright check
--- stderr
loopwright check: which file?
usage: loopwright check FILE [options]; --help explains them
--- exit 2
$ loopwright check mv.tc other.tc
--- stderr
loopwright check: one file at a time, not 'other.tc' as well
usage: loopwright check FILE [options]; --help explains them
--- exit 2
$ loopwright check mv.tc --strict=yes
--- stderr
loopwright check: --strict takes no value
usage: loopwright check FILE [options]; --help explains them
--- exit 2
$ loopwright check mv.tc --lang fortran
--- stderr
loopwright check: --lang takes tc, lwp, lwg, stripe or teml, not 'fortran'
usage: loopwright check FILE [options]; --help explains them
--- exit 2
$ loopwright show mv.tc --stage tee
--- stderr
loopwright show: --stage takes program, schedule, tree, stripe, asm, report, ptx, schedule-tree, dependences or teml, not 'tee'; did you mean 'tree'?
usage: loopwright show FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --size M=1,K=1 --backend intrep
--- stderr
loopwright run: --backend takes interp, tree, c or jit, not 'intrep'; did you mean 'interp'?
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --size M=1,K=1 --seed many
--- stderr
loopwright run: --seed takes a whole number, not 'many'
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --in A
--- stderr
loopwright run: --in takes NAME=VALUE, such as --in A=a.npy, not 'A'
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright einsum ij
--- stderr
loopwright einsum: give the subscripts, then one .npy file per operand
usage: loopwright einsum SUBSCRIPTS FILE... [options]; --help explains them
--- exit 2
$ loopwright frobnicate --json
{"error": "unknown command 'frobnicate'", "hint": "`loopwright --help` lists the commands", "diagnostics": [], "ok": false}
--- exit 2
$ loopwright run mv.tc --siez=4 --json
{"command": "run", "error": "unknown option '--siez'; did you mean '--size'?", "hint": "usage: loopwright run FILE [options]; --help explains them", "diagnostics": [], "ok": false}
--- exit 2
$ loopwright run mv.tc --bogus
--- stderr
loopwright run: unknown option '--bogus'
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ : > empty.tc && loopwright check empty.tc
--- stderr
error: 'empty.tc' has no function
--- exit 1
$ : > empty.teml && loopwright check empty.teml
--- stderr
error: expected a statement, found the end of the text
--- exit 1
$ loopwright run mv.tc --isa avx5
--- stderr
loopwright run: --isa takes scalar, avx2 or avx512, not 'avx5'; did you mean 'avx2'?
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright compile mv.tc --emit c -o mv.c --name 2mv
--- stderr
loopwright compile: --name takes a name as C has them, not '2mv'
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
$ loopwright compile mv.tc --emit object -o mv.o
--- stderr
loopwright compile: --emit takes c, obj, asm, so, ptx, stripe or cubin, not 'object'; did you mean 'obj'?
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
$ loopwright space mv.tc --samples 0
--- stderr
loopwright space: --samples takes a whole number above 0, not '0'
usage: loopwright space FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --seed -1
--- stderr
loopwright run: --seed takes a whole number, not '-1'
usage: loopwright run FILE [options]; --help explains them
--- exit 2
