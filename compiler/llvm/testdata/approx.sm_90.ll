; kernel approx for llvm:sm_90
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @approx(ptr addrspace(1) noundef %x, i64 noundef %x.len) #0 {
.b0:
  %.1 = load float, ptr addrspace(1) %x, align 4
  %.2 = call float @llvm.nvvm.ex2.approx.f(float %.1)
  %.3 = call float @llvm.nvvm.lg2.approx.f(float %.2)
  %.4 = call float @llvm.nvvm.sin.approx.f(float %.3)
  %.5 = call float @llvm.nvvm.cos.approx.f(float %.4)
  %.7 = call float @llvm.fabs.f32(float %.5)
  %.8 = fmul float %.7, 0x4007154760000000
  %.9 = call float @llvm.nvvm.ex2.approx.f(float %.8)
  %.10 = fadd float %.9, 1.0
  %.11 = fdiv float 1.0, %.10, !fpmath !1
  %.12 = call float @llvm.fma.f32(float %.11, float -2.0, float 1.0)
  %.13 = call float @llvm.copysign.f32(float %.12, float %.5)
  %.14 = fcmp olt float %.7, 0x3F90000000000000
  %.6 = select i1 %.14, float %.5, float %.13
  %.15 = call float @llvm.nvvm.rsqrt.approx.f(float %.6)
  %.16 = call float @llvm.nvvm.sqrt.approx.f(float %.15)
  %.17 = fdiv float 1.0, %.16
  %.18 = fdiv float 3.0, %.17
  store float %.18, ptr addrspace(1) %x, align 4
  ret void
}

declare float @llvm.copysign.f32(float, float)
declare float @llvm.fabs.f32(float)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.nvvm.cos.approx.f(float)
declare float @llvm.nvvm.ex2.approx.f(float)
declare float @llvm.nvvm.lg2.approx.f(float)
declare float @llvm.nvvm.rsqrt.approx.f(float)
declare float @llvm.nvvm.sin.approx.f(float)
declare float @llvm.nvvm.sqrt.approx.f(float)
attributes #0 = { nounwind "target-cpu"="sm_90" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
!1 = !{float 2.5}
!2 = !{float 1.0}
