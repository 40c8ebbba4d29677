; kernel Fork for llvm:gfx1100
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @Fork(ptr addrspace(1) noundef %x, i64 noundef %x.len, i8 noundef %c, float noundef %a) nounwind "target-cpu"="gfx1100" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%0 = icmp ne i8 %c, 0
	br i1 %0, label %.b1, label %.l1

.l1:
	br label %.b1

.b1:
	%1 = phi float [ %a, %.b0 ], [ 0.5, %.l1 ]
	%2 = phi float [ %a, %.b0 ], [ %a, %.l1 ]
	%3 = fadd float %1, %2
	%4 = fcmp ogt float %3, 0.5
	br i1 %4, label %.b2, label %.b3

.b2:
	%5 = fmul float %3, %3
	%6 = fcmp olt float %5, %a
	br i1 %6, label %.b3, label %.b4

.b3:
	%7 = phi float [ %3, %.b1 ], [ %5, %.b2 ]
	store float %7, ptr addrspace(1) %x, align 4
	br label %.b4

.b4:
	ret void
}

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
