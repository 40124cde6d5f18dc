# Blocks into which conditions inside pass other indices, and copies of indices from data.
--- pad.tc
def f(float(M) A) -> (O) { O(i) +=! pad(A(i + r - 1)) where r in 0:3, i in 0:M }
--- rows.tc
def g(float(M,N) A, int(M) I) -> (O) { O(m) +=! A(I(m),n) }
--- copied.tc
def g(float(M,N) A, int(M) I) -> (O) {
    T(m) = I(m)
    O(m) +=! A(T(m),n)
}
$ loopwright edit pad.tc --size M=5 --schedule naive --stage stripe --do 'unroll r'
--- stderr
--do:1:1: error: cannot unroll: other indices are passed into its block
  unroll r
  ^~~~~~~~
--- exit 1
$ loopwright edit pad.tc --size M=5 --schedule naive --stage stripe --do 'sink @2 r'
--- stderr
--do:1:1: error: cannot sink: other indices are passed into its block
  sink @2 r
  ^~~~~~~~~
--- exit 1
$ loopwright edit rows.tc --size M=9,N=7 --schedule naive --stage stripe --do 'copy I at m' -o rows.stripe
$ loopwright run rows.stripe --as-written --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright run rows.stripe --as-written --json | grep -o '"ok": true'
"ok": true
$ loopwright run copied.tc --size M=9,N=7 --json | grep -o '"ok": true'
"ok": true
