; kernel Fork for llvm:sm_90
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @Fork(ptr addrspace(1) noundef %x, i64 noundef %x.len, i8 noundef %c, float noundef %a) #0 {
.b0:
  %.1 = icmp ne i8 %c, 0
  br i1 %.1, label %.b1, label %.l1
.l1:
  br label %.b1
.b1:
  %.2 = phi float [ %a, %.b0 ], [ 0x3FE0000000000000, %.l1 ]
  %.3 = phi float [ %a, %.b0 ], [ %a, %.l1 ]
  %.5 = fadd float %.2, %.3
  %.6 = fcmp ogt float %.5, 0x3FE0000000000000
  br i1 %.6, label %.b2, label %.b3
.b2:
  %.7 = fmul float %.5, %.5
  %.8 = fcmp olt float %.7, %a
  br i1 %.8, label %.b3, label %.b4
.b3:
  %.4 = phi float [ %.5, %.b1 ], [ %.7, %.b2 ]
  store float %.4, ptr addrspace(1) %x, align 4
  br label %.b4
.b4:
  ret void
}

attributes #0 = { nounwind "target-cpu"="sm_90" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
