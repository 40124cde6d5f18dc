# --backend c gives what the interpreter gives, in the order of a Schedule, and says what is wrong.
--- gather.tc
def gather(float(N) A, int32(K) I) -> (O) { O(k) = A(I(k)) }
$ loopwright run @/examples/tc/fcrelu.tc --size B=4,I=3,O=5 --backend interp | grep checksum
  out      f32(4, 5) out: checksum cd996b34690f464c
$ loopwright run @/examples/tc/fcrelu.tc --size B=4,I=3,O=5 --backend c | grep checksum
  out      f32(4, 5) out: checksum cd996b34690f464c
$ CC=no-such-compiler loopwright run @/examples/tc/mv.tc --size M=4,K=3 --backend c
--- stderr
error: there is no C compiler 'no-such-compiler'
note: the environment variable CC names the one to use
--- exit 1
$ CC='cc -Dfloat=nonsense' loopwright run @/examples/tc/mv.tc --size M=4,K=3 --backend c 2>&1 | head -1 | cut -d: -f1-2
error: the C compiler rejects the generated code
$ TMPDIR=/nowhere loopwright run @/examples/tc/mv.tc --size M=4,K=3 --backend c
--- stderr
error: the C back-end: cannot make a temporary folder: No such file or directory
--- exit 1
$ @/tests/npy write i.npy '<i4' 3 0 2 3 && loopwright run gather.tc --size N=3 --in I=i.npy --backend c
--- stderr
gather.tc:1:45: error: statement 'O': subscript 1 of 'A' is I[k] = 3 at k = 2, outside [0, 3)
  def gather(float(N) A, int32(K) I) -> (O) { O(k) = A(I(k)) }
                                              ^~~~~~~~~~~~~~
note: I[2] is 3
--- exit 1
$ ls
gather.tc
i.npy
