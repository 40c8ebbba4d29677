; kernel approx for llvm:gfx1100
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @approx(ptr addrspace(1) noundef %x, i64 noundef %x.len) nounwind "target-cpu"="gfx1100" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%0 = load float, ptr addrspace(1) %x, align 4
	%1 = call float @llvm.exp2.f32(float %0)
	%2 = call float @llvm.log2.f32(float %1)
	%3 = call float @llvm.sin.f32(float %2)
	%4 = call float @llvm.cos.f32(float %3)
	%5 = call float @llvm.fabs.f32(float %4)
	%6 = fmul float %5, 0x4007154760000000
	%7 = call float @llvm.exp2.f32(float %6)
	%8 = fadd float %7, 1.0
	%9 = fdiv float 1.0, %8, !fpmath !{float 2.5}
	%10 = call float @llvm.fma.f32(float %9, float -2.0, float 1.0)
	%11 = call float @llvm.copysign.f32(float %10, float %4)
	%12 = fcmp olt float %5, 0.015625
	%13 = select i1 %12, float %4, float %11
	%14 = call contract float @llvm.sqrt.f32(float %13), !fpmath !{float 2.5}
	%15 = fdiv contract float 1.0, %14, !fpmath !{float 2.5}
	%16 = call float @llvm.sqrt.f32(float %15), !fpmath !{float 2.5}
	%17 = fdiv float 1.0, %16, !fpmath !{float 1.0}
	%18 = fdiv float 3.0, %17, !fpmath !{float 2.5}
	store float %18, ptr addrspace(1) %x, align 4
	ret void
}

declare float @llvm.copysign.f32(float %0, float %1)

declare float @llvm.cos.f32(float %0)

declare float @llvm.exp2.f32(float %0)

declare float @llvm.fabs.f32(float %0)

declare float @llvm.fma.f32(float %0, float %1, float %2)

declare float @llvm.log2.f32(float %0)

declare float @llvm.sin.f32(float %0)

declare float @llvm.sqrt.f32(float %0)

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
