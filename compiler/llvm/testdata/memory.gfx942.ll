; kernel Memory for llvm:gfx942
target triple = "amdgcn-amd-amdhsa"

@Memory_shared0 = internal addrspace(3) global [1056 x float] undef, align 16
@Memory_shared2 = internal addrspace(3) global [16 x i8] undef, align 16

define amdgpu_kernel void @Memory(ptr addrspace(1) noundef %x, i64 noundef %x.len, i64 noundef %i) nounwind "target-cpu"="gfx942" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%0 = alloca [300 x float], align 16, addrspace(5)
	%1 = alloca [5 x i8], align 16, addrspace(5)
	%2 = getelementptr [12 x i8], ptr addrspace(1) %x, i64 2
	%3 = getelementptr i8, ptr addrspace(1) %2, i64 4
	%4 = add i64 %i, 2
	%5 = getelementptr i16, ptr addrspace(1) %3, i64 %4
	%6 = load i16, ptr addrspace(1) %5, align 2
	%7 = sitofp i16 %6 to float
	%8 = call i32 @llvm.amdgcn.workitem.id.x()
	%9 = zext i32 %8 to i64
	%10 = getelementptr [132 x i8], ptr addrspace(3) @Memory_shared0, i64 %9
	%11 = getelementptr float, ptr addrspace(3) %10, i64 %i
	store float %7, ptr addrspace(3) %11, align 4
	call void @llvm.memset.p3.i64(ptr addrspace(3) align 8 @Memory_shared2, i8 0, i64 16, i1 false)
	fence syncscope("workgroup") release
	call void @llvm.amdgcn.s.barrier()
	fence syncscope("workgroup") acquire
	%12 = getelementptr [132 x i8], ptr addrspace(3) @Memory_shared0, i64 2
	%13 = getelementptr float, ptr addrspace(3) %12, i64 %9
	%14 = load float, ptr addrspace(3) %13, align 4
	%15 = freeze float %14
	call void @llvm.memset.p5.i64(ptr addrspace(5) align 4 %0, i8 0, i64 1200, i1 false)
	%16 = getelementptr float, ptr addrspace(5) %0, i64 %i
	store float %15, ptr addrspace(5) %16, align 4
	%17 = getelementptr float, ptr addrspace(5) %0, i64 2
	%18 = load float, ptr addrspace(5) %17, align 4
	%19 = freeze float %18
	call void @llvm.memset.p5.i64(ptr addrspace(5) align 1 %1, i8 0, i64 5, i1 false)
	%20 = getelementptr i8, ptr addrspace(5) %1, i64 %i
	%21 = load i8, ptr addrspace(5) %20, align 1
	%22 = freeze i8 %21
	%23 = uitofp i8 %22 to float
	%24 = fadd float %19, %23
	%25 = getelementptr [12 x i8], ptr addrspace(1) %x, i64 1000000000000
	store float %24, ptr addrspace(1) %25, align 4
	ret void
}

declare void @llvm.amdgcn.s.barrier()

declare i32 @llvm.amdgcn.workitem.id.x()

declare void @llvm.memset.p3.i64(ptr addrspace(3) %0, i8 %1, i64 %2, i1 %3)

declare void @llvm.memset.p5.i64(ptr addrspace(5) %0, i8 %1, i64 %2, i1 %3)

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
