# .npy files: what is read, what is written, what is refused.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
--- junk.npy
this is text
$ @/tests/npy write a.npy '<f4' 2,3 1 2 3 4 5 6 && @/tests/npy write --fortran --version 2 f.npy '<f4' 2,3 1 4 2 5 3 6
$ @/tests/npy write x.npy '<f4' 3 1 10 100
$ loopwright run mv.tc --in A=a.npy --in x=x.npy --out C=c.npy
mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
  sizes    M = 2, K = 3
  backend  jit: 6 iterations in {{.*}}
  in       f32(2, 3) A: from a.npy
  in       f32(3) x: from x.npy
  out      f32(2) C: checksum bb5e800621763a4b
           [321, 654]
$ @/tests/npy print c.npy
{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } 321.0 654.0
$ loopwright run mv.tc --in A=f.npy --in x=x.npy | tail -1
           [321, 654]
$ loopwright run mv.tc --in A=a.npy --in x=a.npy
--- stderr
mv.tc:1:31: error: argument 'x' should have rank 1, but has rank 2
  def mv(float(M,K) A, float(K) x) -> (C) {
                                ^
note: it is declared as f32(K) x
--- exit 1
$ loopwright run mv.tc --in A=a.npy --in x=c.npy
--- stderr
mv.tc:1:31: error: dimension 0 of argument 'x' is 2, but should be 3
  def mv(float(M,K) A, float(K) x) -> (C) {
                                ^
note: it is declared as f32(K) x
note: K = 3 comes from A
--- exit 1
$ @/tests/npy write d.npy '<f8' 3 1 2 3 && loopwright run mv.tc --in A=a.npy --in x=d.npy
--- stderr
mv.tc:1:31: error: argument 'x' should have elements of type f32, but has f64
  def mv(float(M,K) A, float(K) x) -> (C) {
                                ^
note: it is declared as f32(K) x
note: declare it with the type of the data, or convert the data: in NumPy, x.astype('f4')
--- exit 1
$ @/tests/npy write b.npy '>f4' 3 1 2 3 && loopwright run mv.tc --in A=a.npy --in x=b.npy
--- stderr
error: cannot read 'b.npy': its elements are big-endian ('>f4'); save it with a.astype(a.dtype.newbyteorder('<'))
--- exit 1
$ head -c 136 x.npy > t.npy; loopwright run mv.tc --in A=a.npy --in x=t.npy
--- stderr
error: cannot read 't.npy': it holds 8 bytes of data, but its shape and type ask for 12
--- exit 1
$ head -c 40 x.npy > t.npy; loopwright run mv.tc --in A=a.npy --in x=t.npy
--- stderr
error: cannot read 't.npy': it ends inside its header
--- exit 1
$ loopwright run mv.tc --in A=a.npy --in x=junk.npy
--- stderr
error: cannot read 'junk.npy': it is not a .npy file
--- exit 1
$ loopwright run mv.tc --in A=a.npy --in x=nowhere.npy
--- stderr
error: cannot read 'nowhere.npy': No such file or directory
--- exit 1
$ loopwright run mv.tc --in A=a.npy --in x=.
--- stderr
error: cannot read '.': it is not a regular file
--- exit 1
$ loopwright run mv.tc --in A=a.npy --in y=x.npy
--- stderr
error: --in y: 'mv' has no input of that name; it is mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
--- exit 1
$ loopwright run mv.tc --in A=a.npy --in A=a.npy
--- stderr
loopwright run: 'A' is given twice
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --in A=a.npy --out C=no/such/dir.npy
--- stderr
error: cannot write 'no/such/dir.npy': No such file or directory
--- exit 1
