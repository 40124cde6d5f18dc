# Subscripts that are linear in pieces become a choice between linear reads: no division and no gather is left.
--- rotate.tc
def rotate(float(M) X) -> (Y) {
    Y(m) = X((m + 3) % M) where m in 0:M
}
--- border.tc
def border(float(N,N) A) -> (B) {
    B(i,j) = mirror(A(i - 1, j)) + mirror(A(i, j + 2)) + clamp(A(i + 1, j - 1)) where i in 0:N, j in 0:N
}
--- divided.tc
def divided(float(C,H,W) I) -> (O) {
    O(c,y,x) = I(c, y/3, x) where y in 0:3*H, x in 0:W
}
$ loopwright show rotate.tc --size M=1000 --stage asm --isa avx2 | grep -c 'idiv\|gather'
0
--- exit 1
$ loopwright show border.tc --size N=100 --stage asm --isa avx2 | grep -c 'idiv\|gather'
0
--- exit 1
$ loopwright show divided.tc --size C=3,H=20,W=100 --stage asm --isa avx2 | grep -c 'idiv\|gather'
0
--- exit 1
