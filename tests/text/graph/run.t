# Every example runs.
$ for f in @/examples/graphs/*.lwg; do loopwright check $f || exit 1; done
concat(f32(Rows, N) A, f32(Rows, M) B) -> (f32(Rows, N + M) C)
conv2d(f32(N, C, H, W) I, f32(M, C, 3, 3) F) -> (f32(N, M, H, W) O)
layer(f32(Batch, In) X, f32(Out, In) W, f32(Out) bias) -> (f32(Batch, Out) Y)
matmul(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
maxpool(f32(C, H, W) X) -> (f32(C, (H + 1)/2, (W + 1)/2) Y)
softmax(f32(N, K) X) -> (f32(N, K) Y)
space_to_depth(f32(C, H, W) X) -> (f32(4*C, H/2, W/2) Y)
transposed_conv(f32(H) X, f32(3) W) -> (f32(2*H + 1) Y)
$ loopwright run @/examples/graphs/maxpool.lwg --backend interp --size C=1,H=4,W=4 | grep 'out '
  out      f32(1, 2, 2) Y: checksum 2e16b332271de6aa
$ loopwright run @/examples/graphs/space_to_depth.lwg --backend interp --size C=1,H=3,W=4
--- stderr
@/examples/graphs/space_to_depth.lwg:12:89: error: 2*(H/2) - H >= 0 must hold with H = 3, but it is -1
  %blocks = view %x [C, Hb, Hi, Wb, Wi] where H = Hb*size(Hi) + Hi, W = Wb*size(Wi) + Wi, size(H) = size(Hb)*size(Hi), size(W) = size(Wb)*size(Wi)
                                                                                          ^~~~~~~~~~~~~~~~~~~~~~~~~~~
note: so that size(H) = size(Hb)*size(Hi)
--- exit 1
