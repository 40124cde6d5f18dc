# Words of a Schedule that are nearly right, data of another type, and a comment in Stripe text.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
def d(double(N) A) -> (B) { B(i) = A(i) }
def s(float(N) A) -> (B) { B(i) = A(i) }
--- a.lws
C: m n k
prefech A 4
--- a.stripe
# matmul
$ loopwright show mm.tc --def mm --size M=8,N=8,K=8 --schedule a.lws
--- stderr
a.lws:2:9: error: expected ':', found 'A'
  prefech A 4
          ^
a.lws:2:1: note: did you mean 'prefetch'?
  prefech A 4
  ^~~~~~~
--- exit 1
$ loopwright run mm.tc --def d --size N=3 --out B=b.npy > /dev/null; loopwright run mm.tc --def s --in A=b.npy
--- stderr
mm.tc:3:16: error: argument 'A' should have elements of type f32, but has f64
  def s(float(N) A) -> (B) { B(i) = A(i) }
                 ^
note: it is declared as f32(N) A
note: declare it with the type of the data, or convert the data: in NumPy, A.astype('f4')
--- exit 1
$ loopwright check a.stripe 2>&1 | head -4
a.stripe:1:1: error: unexpected character
  # matmul
  ^
note: a comment begins with '//'; '#' begins a tag such as '#contraction'
$ loopwright run mm.tc --def mm --size "M=64 K=128"
--- stderr
loopwright run: --size 'M=64 K=128': commas separate the sizes, not spaces
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mm.tc --def mm --size M=4,N=4,K=4 --schedule 'C: m n k'
--- stderr
error: cannot open 'C: m n k': No such file or directory; --schedule takes the file of a Schedule
--- exit 1
$ loopwright check mm.tc --size M=x
--- stderr
loopwright check: --size M=x: not a whole number of 64 bits
usage: loopwright check FILE [options]; --help explains them
--- exit 2
$ loopwright einsum a.npy b.npy
--- stderr
loopwright einsum: 'a.npy' is a file: the subscripts come before the files, such as 'mk,kn->mn'
usage: loopwright einsum SUBSCRIPTS FILE... [options]; --help explains them
--- exit 2
$ loopwright einsum 'ij,jk' a.npy b.npy --out C=c.npy
--- stderr
loopwright einsum: the one result has no name here: --out c.npy
usage: loopwright einsum SUBSCRIPTS FILE... [options]; --help explains them
--- exit 2
