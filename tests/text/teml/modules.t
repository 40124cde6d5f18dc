# A path in a module of its own, parameters set from outside, and what a module may hold.
--- lib/paths.teml
param T = 4 in [2, 4, 8]
def blocked(l, v) {
    t = tile(l, v)
    return t
}
--- lib/bad.teml
A = tensor([4])
def f(l) {
    x = tile(l, i1*i2)
    return x
}
--- t.teml
import "lib/paths.teml"
import "lib/paths.teml"
param N = 8
A = tensor([N, 2*N])
B = tensor([2*N, N])
B = eq(A, [i1, i2] -> [i2, i1])
l = build(B)
v = blocked(l, [T, T/2])
codegen(v)
--- bad.teml
import "lib/bad.teml"
A = tensor([4])
B = f(A)
$ loopwright check t.teml
v(f64(8, 16) A) -> (f64(16, 8) B)
$ loopwright run t.teml --size N=5,T=2 --check
v(f64(5, 10) A) -> (f64(10, 5) B)
  sizes    no sizes
  check    right: bit for bit, against the interpreter
$ loopwright teml t.teml --size T=8 | tail -5
  i1_8 (0, 0, 1)
    i2_4 (0, 3, 1)
      i1 (8*i1_8, 8*i1_8 + 7, 1)
        i2 (4*i2_4, 4*i2_4 + 3, 1)
          B[i2, i1] = A[i1, i2]
$ loopwright check bad.teml
--- stderr
lib/bad.teml:1:1: error: a module has only def, param and import statements
  A = tensor([4])
  ^~~~~~~~~~~~~~~
lib/bad.teml:3:20: error: iterator 'i2' can only be multiplied by numbers and parameters
      x = tile(l, i1*i2)
                     ^~
bad.teml:3:1: note: in 'f', called here
  B = f(A)
  ^~~~~~~~
--- exit 1
$ mkdir m; for i in $(seq 70); do echo "import \"m/$i.teml\"" >> many.teml; echo "param P$i = 1" > m/$i.teml; done; loopwright check many.teml 2>&1 | head -1
many.teml:64:8: error: too many modules; 'm/64.teml' is not read
