; kernel Swap for llvm:gfx942
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @Swap(ptr addrspace(1) noundef %out, i64 noundef %out.len) nounwind "target-cpu"="gfx942" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	br label %.b1

.b1:
	%0 = phi i32 [ 1, %.b0 ], [ %1, %.b1 ]
	%1 = phi i32 [ 2, %.b0 ], [ %2, %.b1 ]
	%2 = phi i32 [ 3, %.b0 ], [ %0, %.b1 ]
	%3 = phi i64 [ 0, %.b0 ], [ %6, %.b1 ]
	%4 = phi i1 [ true, %.b0 ], [ %5, %.b1 ]
	%5 = phi i1 [ false, %.b0 ], [ %4, %.b1 ]
	%6 = add i64 %3, 1
	%7 = icmp slt i64 %6, %out.len
	br i1 %7, label %.b1, label %.b2

.b2:
	%8 = select i1 %4, i32 %0, i32 %1
	%9 = select i1 %5, i32 %2, i32 %8
	store i32 %9, ptr addrspace(1) %out, align 4
	ret void
}

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
