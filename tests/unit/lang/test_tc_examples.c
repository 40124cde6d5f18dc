// Every program under examples/tc, with exact results.
#include "unit/tc_run.h"

RUNS(mv, "@mv.tc mv", "M=2 K=2", "A=1 2 3 4  x=5 6", "C:f32[2]=17 39")
RUNS(mv_two_statements, "@mv2.tc mv", "M=2 K=3", "A=1 2 3 4 5 6  x=1 0 -1", "C:f32[2]=-2 -2")
RUNS(sgemm, "@sgemm.tc sgemm", "N=2 M=2 K=2", "a=2 b=10  A=1 2 3 4  B=5 6 7 8  C=1 2 3 4",
     "C:f32[2,2]=48 64 116 140")
RUNS(fcrelu, "@fcrelu.tc fcrelu", "B=2 I=2 O=3", "in=1 2 3 4  weight=1 0 0 1 -1 -1  bias=0.5 -10 2",
     "out[2,3]=1.5 0 0 3.5 0 0")
RUNS(conv2d, "@conv2d.tc conv2d", "B=1 IP=1 H=3 W=3 OP=1 KH=2 KW=2",
     "in=1 2 3 4 5 6 7 8 9  weight=1 10 100 1000", "out[1,1,2,2]=5421 6532 8754 9865")
RUNS(maxpool2x2, "@maxpool2x2.tc maxpool2x2", "B=1 C=1 H=2 W=5", "in=-3 -1 -7 -2 -9 -4 -5 -6 -8 -1",
     "out[1,1,1,2]=-1 -2")
RUNS(gather, "@gather.tc gather", "N=3 A=1 B=4", "X=10 20 30  I=2 0 0 1", "Z[1,4]=30 10 10 20")
RUNS(sconv2d, "@sconv2d.tc sconv2d", "sh=2 sw=3 N=1 C=1 H=3 W=5 F=1 KH=1 KW=2",
     "I=1 2 3 4 5 6 7 8 9 10 11 12 13 14 15  W=1 10  B=0.5", "O[1,1,2,2]=21.5 54.5 131.5 164.5")
RUNS(conv1d, "@conv1d.tc conv1d", "M=4 N=2", "I=1 2 3 4  K=1 10", "O[3]=21 32 43")
RUNS(outer_product, "@outer_product_mm.tc outerProductMM", "P=1 Q=2 R=2 S=2 T=1",
     "A=1 2 3 4  B=1 1 1 -1", "O[1,2,2,1]=3 7 -1 -1")
RUNS(tmm, "@tmm.tc tmm", "M=2 N=2 K=2", "A=1 2 3 4  B=5 6 7 8", "C[2,2]=17 23 39 53")
RUNS(tbmm, "@tbmm.tc tbmm", "B=2 N=1 M=2 K=1", "X=1 2 3 4  Y=5 6 7 8", "Z[2,1,1]=17 53")
RUNS(gconv, "@gconv.tc gconv", "N=1 G=2 C=1 H=2 W=2 F=1 KH=2 KW=1 M=1",
     "I=1 2 3 4 5 6 7 8  W1=1 10 2 20  B=0.25", "O[1,2,1,1,2]=31.25 42.25 150.25 172.25")
RUNS(lut2, "@prod_model.tc 2LUT", "E1=2 D=2 B=1 L1=2 E2=1 L2=3",
     "LUT1=1 2 3 4  I1=1 1  LUT2=5 6  I2=0 0 0", "O1[1,2]=6 8  O2[1,2]=15 18")
RUNS(c3, "@prod_model.tc C3", "B=1 WX=2 WY=2", "I=1 2  W=3 4 5 6", "C3[1,2]=11 17")
RUNS(mlp1, "@prod_model.tc MLP1", "B=1 M=2 O=2 N=2", "I=1 2  W1=1 1 -1 -1  B1=0.5 0.5",
     "O1[1,2]=3.5 0")
RUNS(mlp3, "@prod_model.tc MLP3", "B=1 N=2 O=2 P=1 Q=2",
     "O1=1 2  W2=1 0 0 1  B2=0 1  W3=2 3  B3=-1  W4=1 -1  B4=0.5 0.5", "O2=1 3  O3=10  O4=10.5 0")
RUNS(prod_model, "@prod_model.tc prodModel",
     "E1=2 D=1 B=2 L1=2 E2=3 L2=1 WX=2 WY=2 N=2 M=4 O=2 P=1 Q=1",
     "LUT1=1 2  I1=0 1 1 1  LUT2=10 20 30  I2=2 0  I3=1 2 3 4  W=1 0 0 1  C3=0 0 0 0"
     "  W1=1 0 0 0 0 1 1 1  B1=0 0.5  W2=1 0 0 1  B2=0 -100  W3=1 1  B3=0  W4=2  B4=1",
     "C1=3 4  C2=30 10  C3=1 2 3 4  I[2,4]=3 30 1 2 4 10 3 4  O1=3 33.5 4 17.5"
     "  O2=3 0 4 0  O3=3 4  O4=7 9")
RUNS(softmax, "@softmax.tc softmax", "N=2 D=4", "I=1000 1000 1000 1000 -5 -5 -5 -5",
     "O=0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25")
RUNS(softmax_values, "@softmax.tc softmax", "N=1 D=2", "I=0 1", "O~0.2689414 0.7310586")
RUNS(layernorm, "@layernorm.tc layernorm", "N=1 D=4", "I=1 3 1 3  gamma=1 1 2 2  beta=0 0 0.5 0.5",
     "mean=2  var=1  O~-0.99999500 0.99999500 -1.4999900 2.4999900")
RUNS(padded_conv2d, "@padded_conv2d.tc padded_conv2d", "N=1 C=1 H=2 W=2 F=1 KH=3 KW=3",
     "I=1 2 3 4  K=1 1 1 1 10 1 1 1 1", "O[1,1,2,2]=19 28 37 46")
RUNS(padded_maxpool, "@padded_maxpool.tc padded_maxpool", "N=1 C=1 H=3 W=3",
     "I=-9 -2 -3 -4 -5 -6 -7 -8 -1", "O[1,1,2,2]=-2 -2 -4 -1")
RUNS(attention, "@attention.tc attention", "B=1 N=1 D=4 M=2 E=2",
     "Q=0 0 0 0  K=1 2 3 4 5 6 7 8  V=1 2 3 4", "O[1,1,2]=2 3")
RUNS(quantised, "@quantised.tc quantised", "M=1 N=2 K=3",
     "A=255 1 200\nW=-128 127 2 -1 1 3\nzero=10 -10\nscale=0.5 2.0",
     "S:i32[1,2]=-32438 32984\nO:f32[1,2]=-16224.0 65988.0")
RUNS(histogram, "@histogram.tc histogram", "N=6 K=4", "B=3 0 3 3 1 0", "H:i32[4]=2 1 0 3")
RUNS(embedding_bag, "@embedding_bag.tc embedding_bag", "E=3 D=2 B=2 L=2",
     "table=1 2 3 4 5 6  index=0 0 2 1", "O[2,2]=2 4 8 10")
RUNS(embedding_grad, "@embedding_bag.tc embedding_grad", "E=3 D=2 B=2 L=2",
     "grad=1 2 3 4  index=0 0 2 1", "G[3,2]=2 4 3 4 3 4")
RUNS(matmul_bias_relu, "@matmul_bias_relu.tc matmul_bias_relu", "M=2 K=2 N=2",
     "A=1 2 3 4  B=1 -1 1 -1  bias=1 2", "C=4 0 8 0")
RUNS(groupnorm, "@groupnorm.tc groupnorm", "N=1 G=2 D=1 H=1 W=2",
     "I=1 3 5 5  gamma=1 1  beta=0 0.5", "mean=2 5  var=1 0  O~-0.99999500 0.99999500 0.5 0.5")
RUNS(kru, "@kru.tc kru", "D0=1 N0=2 D1=2 N1=1 D2=1 N2=2 M=1", "W0=1 10  W1=2 3  W2=1 1  X=1 2 3 4",
     "Y[1,1,2,1]=146 219")
RUNS(wavenet, "@wavenet.tc wavenet", "F=1 B=1 R=1 T=2 C=1 S=1",
     "data=1 2  Wt=0 Wp=0 bt=0  St=0 Sp=0 bs=0  Wr=1 br=0.5  Ws=1 bk=3", "res=1.5 2.5  skip=3 3")
RUNS(wavenet_dilated, "@wavenet.tc wavenet", "F=2 B=1 R=1 T=3 C=1 S=1",
     "data=1 2 3  Wt=0 Wp=1 bt=0  St=0 Sp=0 bs=0  Wr=0 br=0  Ws=1 bk=0", "skip~0 0 0.38079708")
