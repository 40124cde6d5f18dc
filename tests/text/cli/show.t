# The Program as text, which parses back to itself and runs.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
$ loopwright show mv.tc
program mv(M, K) {
    input A: f32[M, K]
    input x: f32[K]
    output C: f32[M]

    C: for m in 0:M, k in 0:K
        C[m] +=! A[m, k]*x[k]
}
$ loopwright show mv.tc --stage program > a.lwp && loopwright show a.lwp > b.lwp && cmp a.lwp b.lwp
$ loopwright show mv.tc --size M=4,K=3 | tee c.lwp
program mv {
    input A: f32[4, 3]
    input x: f32[3]
    output C: f32[4]

    C: for m in 0:4, k in 0:3
        C[m] +=! A[m, k]*x[k]
}
$ loopwright show mv.tc --size M=4
--- stderr
error: 'mv' needs a value for K
note: give values by name; on the command line, for example, --size K=8
--- exit 1
$ loopwright run mv.tc --size M=4,K=3 | grep checksum
  out      f32(4) C: checksum 779c24a75706378b
$ loopwright run a.lwp --size M=4,K=3 | grep checksum
  out      f32(4) C: checksum 779c24a75706378b
$ loopwright run c.lwp | grep checksum
  out      f32(4) C: checksum 779c24a75706378b
$ loopwright show mv.tc --json --size M=2,K=2
{"command": "show", "file": "mv.tc", "stage": "program", "functions": [{"def": "mv", "sizes": {"M": 2, "K": 2}, "text": "program mv {\n    input A: f32[2, 2]\n    input x: f32[2]\n    output C: f32[2]\n\n    C: for m in 0:2, k in 0:2\n        C[m] +=! A[m, k]*x[k]\n}\n"}], "diagnostics": [], "ok": true}
$ loopwright show @/examples/tc/prod_model.tc 2>/dev/null > all.lwp && loopwright show all.lwp | cmp - all.lwp && loopwright check all.lwp | cut -c1-20
2LUT(f32(E1, D) LUT1
C3(f32(B, WX) I, f32
MLP1(f32(B, M) I, f3
MLP3(f32(B, N) O1, f
prodModel(f32(E1, D)
$ cat a.lwp a.lwp > twice.lwp; loopwright check twice.lwp
mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
--- stderr
error: a program 'mv' exists already
--- exit 1
$ echo oops >> a.lwp; loopwright check a.lwp
mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
--- stderr
a.lwp:9:1: error: expected 'program', found 'oops'
  oops
  ^~~~
--- exit 1
