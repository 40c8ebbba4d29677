; kernel approx for llvm:gfx1100
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @approx(ptr addrspace(1) noundef %x, i64 noundef %x.len) #0 {
.b0:
  %.1 = load float, ptr addrspace(1) %x, align 4
  %.2 = call float @llvm.exp2.f32(float %.1)
  %.3 = call float @llvm.log2.f32(float %.2)
  %.4 = call float @llvm.sin.f32(float %.3)
  %.5 = call float @llvm.cos.f32(float %.4)
  %.7 = call float @llvm.fabs.f32(float %.5)
  %.8 = fmul float %.7, 0x4007154760000000
  %.9 = call float @llvm.exp2.f32(float %.8)
  %.10 = fadd float %.9, 1.0
  %.11 = fdiv float 1.0, %.10, !fpmath !1
  %.12 = call float @llvm.fma.f32(float %.11, float -2.0, float 1.0)
  %.13 = call float @llvm.copysign.f32(float %.12, float %.5)
  %.14 = fcmp olt float %.7, 0x3F90000000000000
  %.6 = select i1 %.14, float %.5, float %.13
  %.16 = call contract float @llvm.sqrt.f32(float %.6), !fpmath !1
  %.15 = fdiv contract float 1.0, %.16, !fpmath !1
  %.17 = call float @llvm.sqrt.f32(float %.15), !fpmath !1
  %.18 = fdiv float 1.0, %.17, !fpmath !2
  %.19 = fdiv float 3.0, %.18, !fpmath !1
  store float %.19, ptr addrspace(1) %x, align 4
  ret void
}

declare float @llvm.copysign.f32(float, float)
declare float @llvm.cos.f32(float)
declare float @llvm.exp2.f32(float)
declare float @llvm.fabs.f32(float)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.log2.f32(float)
declare float @llvm.sin.f32(float)
declare float @llvm.sqrt.f32(float)
attributes #0 = { nounwind "target-cpu"="gfx1100" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
!1 = !{float 2.5}
!2 = !{float 1.0}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
