# Made-up index tensors hold -1 where every use is guarded against it; tuning takes data with any index that a guard keeps out.
--- p.tc
def padded(float(N) E, int(B) I) -> (O) { O(b) = I(b) >= 0 ? E(I(b)) : 100.0 }
def other(float(N) E, int(B) I) -> (O) { O(b) = !(-1 == I(b)) && I(b) != 7 ? E(I(b)) : 100.0 }
def guards(float(N) E, int(B) I) -> (O) { O(b) = I(b) >= -1 ? E(I(b)) : 100.0 }
def twice(float(N) E, int(B) I) -> (O) { O(b) = (I(b) >= 0 ? E(I(b)) : 100.0) + E(I(b)) }
def bytes(float(N) E, uint8(B) I) -> (O) { O(b) = I(b) >= 0 ? E(I(b)) : 100.0 }
$ for f in padded other guards twice bytes; do loopwright run p.tc --def $f --size N=2,B=40 --out O=o.npy > /dev/null && @/tests/npy print o.npy | grep -c 100.0; done; true
1
1
0
0
0
$ @/tests/npy write i.npy '<i4' 3 1 -100 0 && loopwright tune p.tc --def padded --size N=2 --in I=i.npy --seconds 0.1 --db none > /dev/null && echo tuned
tuned
$ loopwright tune p.tc --def other --size N=2 --in I=i.npy --seconds 0.1 --db none
--- stderr
error: 'I' contains -100, but subscripts must be from -1 to 1
--- exit 1
