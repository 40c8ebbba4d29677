; kernel Struct for llvm:gfx942
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @Struct(ptr addrspace(1) noundef %x, i64 noundef %x.len, i8 noundef %c.0, i64 noundef %c.1, i8 noundef %c.2, [7 x i8] %0, float noundef %c.3, i64 noundef %c.4, i8 noundef %b, [7 x i8] %1) nounwind "target-cpu"="gfx942" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%2 = icmp ne i8 %c.2, 0
	%3 = sext i8 %c.0 to i64
	%4 = add i64 %3, %c.1
	%5 = call i64 @llvm.fptosi.sat.i64.f32(float %c.3)
	%6 = select i1 %2, i64 %4, i64 %5
	%7 = zext i8 %b to i64
	%8 = add i64 %6, %7
	%9 = add i64 %8, 8
	store i64 %9, ptr addrspace(1) %x, align 8
	ret void
}

declare i64 @llvm.fptosi.sat.i64.f32(float %0)

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
