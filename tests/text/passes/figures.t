# Figures 4 and 5 of the Stripe paper: a 3 x 3 convolution of 12 x 16 points, 8 to 16 channels, with room for 512 elements
# and lines of 8. A tile of 3 x 4 points needs 432 elements, 54 lines for 13824 multiply-adds: 0.003906.
--- conv.tc
def conv(float(X,Y,C) I, float(3,3,K,C) F) -> (O) {
    O(x,y,k) +=! pad(I(x + i - 1, y + j - 1, c)) * F(i,j,k,c) where x in 0:X, y in 0:Y, i in 0:3, j in 0:3
}
--- figure4.lwm
machine figure4 "the weights are untiled"
pass flatten
pass autotile reqs=#contraction acc=no max_total=2KiB line=32 aligned=yes without=F start_cost=0 split_factor=0
$ loopwright passes conv.tc --size X=12,Y=16,C=8,K=16 --machine figure4.lwm --explain
flatten      O: #zero, iterations in any order
             O: #contraction, iterations in any order
autotile     O: 3x4x16x3x3x8 of 12x16x16x3x3x8, cost 0.00390625; 1x1x1x3x3x8 would cost 0.138889; 752 tiles tried
$ loopwright passes conv.tc --size X=12,Y=16,C=8,K=16 --machine figure4.lwm --until flatten --stage stripe | sed '1,11d'
    1: #kernel #contraction #agg_op_add #comb_op_mul block [x:12, y:16, k:16, i:3, j:3, c:8]:221184 ( // O
        x + i - 1 >= 0
        12 - x - i >= 0
        y + j - 1 >= 0
        16 - y - j >= 0
        in I[x + i - 1, y + j - 1, c] fp32(1, 1, 1):(128, 8, 1)
        in F[i, j, k, c] fp32(1, 1, 1, 1):(384, 128, 8, 1)
        inout O[x, y, k]:add fp32(1, 1, 1):(256, 16, 1)
    ) {
        0: $I = load(I)
        1: $F = load(F)
        2: $0 = mul($I, $F)
        3: O = store($0)
    }
}
$ loopwright passes conv.tc --size X=12,Y=16,C=8,K=16 --machine figure4.lwm --stage stripe | sed '1,11d'
    1: block [x:4, y:4]:16 ( // O
        in I[3*x - 1, 4*y - 1, 0] fp32(5, 6, 8):(128, 8, 1)
        in F[0, 0, 0, 0] fp32(3, 3, 16, 8):(384, 128, 8, 1)
        inout O[3*x, 4*y, 0]:add fp32(3, 4, 16):(256, 16, 1)
    ) {
        0: #kernel #contraction #agg_op_add #comb_op_mul block [x:3, y:4, k:16, i:3, j:3, c:8, x_0 = x, y_0 = y]:13824 ( // O
            x + i + 3*x_0 - 1 >= 0
            12 - x - i - 3*x_0 >= 0
            y + j + 4*y_0 - 1 >= 0
            16 - y - j - 4*y_0 >= 0
            in I[x + i, y + j, c] fp32(1, 1, 1):(128, 8, 1)
            in F[i, j, k, c] fp32(1, 1, 1, 1):(384, 128, 8, 1)
            inout O[x, y, k]:add fp32(1, 1, 1):(256, 16, 1)
        ) {
            0: $I = load(I)
            1: $F = load(F)
            2: $0 = mul($I, $F)
            3: O = store($0)
        }
    }
}
$ loopwright run conv.tc --size X=12,Y=16,C=8,K=16 --machine figure4.lwm --check | tail -1
  check    right: bit for bit, against the interpreter
