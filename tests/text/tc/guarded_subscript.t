# A subscript that must be computed first, under a condition: it is computed where the condition holds, whatever the type of the indices.
--- g.tc
def shift(float(N) E, int8(B) I) -> (O) { O(b) = x >= 0 ? E(x) : -1.0 where x = int(I(b)) - 1 }
def narrow(float(N) E, uint8(B) I) -> (O) { O(b) = I(b) > 0 ? E(x) : -1.0 where x = I(b) - 1 }
def bits(float(N) E, int16(B) I) -> (O) { O(b) = I(b) >= 0 ? E(I(b) & 1) : -1.0 }
def before(float(N) E, int(B) I) -> (O) { O(b) = b > 0 && b <= B ? E(abs(I(b-1))) : -1.0 where b in 0:B+2 }
def inner(float(N) E, int(M) P, int(B) I) -> (O) { O(b) = I(b) >= 0 ? E(abs(P(I(b)))) : -1.0 }
$ @/tests/npy write i1.npy '|i1' 3 0 2 -7 && @/tests/npy write u1.npy '|u1' 3 0 2 1 && @/tests/npy write i2.npy '<i2' 3 5 2 -7 && @/tests/npy write i4.npy '<i4' 3 0 1 -1
$ @/tests/npy write e.npy '<f4' 2 10 20
$ for b in interp jit c; do loopwright run g.tc --def shift --in E=e.npy --in I=i1.npy --backend $b | tail -1; done
           [-1, 20, -1]
           [-1, 20, -1]
           [-1, 20, -1]
$ for b in interp jit c; do loopwright run g.tc --def narrow --in E=e.npy --in I=u1.npy --backend $b | tail -1; done
           [-1, 20, 10]
           [-1, 20, 10]
           [-1, 20, 10]
$ for b in interp jit c; do loopwright run g.tc --def bits --in E=e.npy --in I=i2.npy --backend $b | tail -1; done
           [20, 10, -1]
           [20, 10, -1]
           [20, 10, -1]
$ for b in interp jit c; do loopwright run g.tc --def before --in E=e.npy --in I=i4.npy --backend $b | tail -1; done
           [-1, 10, 20, 20, -1]
           [-1, 10, 20, 20, -1]
           [-1, 10, 20, 20, -1]
$ for b in interp jit c; do loopwright run g.tc --def inner --in E=e.npy --in P=i4.npy --in I=i4.npy --backend $b | tail -1; done
           [10, 20, -1]
           [10, 20, -1]
           [10, 20, -1]
