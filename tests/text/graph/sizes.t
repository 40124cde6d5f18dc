# Sizes of inputs from those of outputs: Ho is bound, H follows.
--- conv.lwg
graph conv
dim H
param Ho
dim Kd = 3
%i = read I f32 [H]
%w = read W f32 [Kd]
%v = view %i [Ho, Kd] where H = 2*Ho + Kd
%p = mul %v %w
%s = add %p [Ho]
%out = write O %s [Ho]
$ loopwright check conv.lwg
conv(f32(2*Ho + 1) I, f32(3) W) -> (f32(Ho) O)
$ loopwright check conv.lwg --size Ho=4
conv(f32(2*Ho + 1) I, f32(3) W) -> (f32(Ho) O)
  with Ho = 4:
  in    f32(9) I
  in    f32(3) W
  out   f32(4) O
