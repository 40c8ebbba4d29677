; kernel Scale for llvm:gfx942
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @Scale(ptr addrspace(1) noundef %x, i64 noundef %x.len, float noundef %a, [4 x i8] %0) nounwind "target-cpu"="gfx942" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%1 = call i32 @llvm.amdgcn.workgroup.id.x()
	%2 = zext i32 %1 to i64
	%3 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
	%4 = getelementptr i8, ptr addrspace(4) %3, i64 12
	%5 = load i16, ptr addrspace(4) %4, align 2
	%6 = zext i16 %5 to i64
	%7 = mul i64 %2, %6
	%8 = call i32 @llvm.amdgcn.workitem.id.x()
	%9 = zext i32 %8 to i64
	%10 = add i64 %7, %9
	br label %.b1

.b1:
	%11 = phi i64 [ %10, %.b0 ], [ %22, %.l1 ]
	%12 = icmp slt i64 %11, %x.len
	; k/scale.go:12
	br i1 %12, label %.b2, label %.b3

.b2:
	; k/scale.go:13
	%13 = icmp ult i64 %11, %x.len
	br i1 %13, label %.l1, label %.l2

.l2:
	call void @llvm.trap()
	unreachable

.l1:
	%14 = getelementptr float, ptr addrspace(1) %x, i64 %11
	%15 = load float, ptr addrspace(1) %14, align 4
	%16 = fmul float %15, %a
	store float %16, ptr addrspace(1) %14, align 4
	%17 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
	%18 = getelementptr i32, ptr addrspace(4) %17, i64 0
	%19 = load i32, ptr addrspace(4) %18, align 4
	%20 = zext i32 %19 to i64
	%21 = mul i64 %20, %6
	%22 = add i64 %11, %21
	br label %.b1

.b3:
	ret void
}

declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()

declare i32 @llvm.amdgcn.workgroup.id.x()

declare i32 @llvm.amdgcn.workitem.id.x()

declare void @llvm.trap()

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
