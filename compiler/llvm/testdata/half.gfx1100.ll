; kernel Half for llvm:gfx1100
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @Half(ptr addrspace(1) noundef %b, i64 noundef %b.len, ptr addrspace(1) noundef %h, i64 noundef %h.len, ptr addrspace(1) noundef %i, i64 noundef %i.len) nounwind "target-cpu"="gfx1100" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%0 = load i16, ptr addrspace(1) %b, align 2
	%1 = zext i16 %0 to i32
	%2 = shl i32 %1, 16
	%3 = bitcast i32 %2 to float
	%4 = load i16, ptr addrspace(1) %h, align 2
	%5 = bitcast i16 %4 to half
	%6 = fpext half %5 to float
	%7 = call float @llvm.minimum.f32(float %3, float %6)
	%8 = bitcast float %7 to i32
	%9 = fcmp uno float %7, 0.0
	%10 = lshr i32 %8, 16
	%11 = and i32 %10, 1
	%12 = add i32 %8, u0x7FFF
	%13 = add i32 %12, %11
	%14 = lshr i32 %13, 16
	%15 = trunc i32 %14 to i16
	%16 = select i1 %9, i16 32704, i16 %15
	store i16 %16, ptr addrspace(1) %b, align 2
	%17 = fpext float %7 to double
	%18 = fpext float %6 to double
	%19 = call double @llvm.maximum.f64(double %17, double %18)
	%20 = fptrunc double %19 to half
	%21 = bitcast half %20 to i16
	store i16 %21, ptr addrspace(1) %h, align 2
	%22 = call i64 @llvm.fptosi.sat.i64.f64(double %19)
	store i64 %22, ptr addrspace(1) %i, align 8
	%23 = icmp slt i64 %22, 0
	%24 = sub i64 0, %22
	%25 = select i1 %23, i64 %24, i64 %22
	%26 = uitofp i64 %25 to float
	%27 = call i64 @llvm.fptoui.sat.i64.f32(float %26)
	%28 = icmp ugt i64 %27, %25
	%29 = icmp ne i64 %27, %25
	%30 = bitcast float %26 to i32
	%31 = zext i1 %28 to i32
	%32 = sub i32 %30, %31
	%33 = zext i1 %29 to i32
	%34 = or i32 %32, %33
	%35 = lshr i32 %34, 16
	%36 = and i32 %35, 1
	%37 = add i32 %34, u0x7FFF
	%38 = add i32 %37, %36
	%39 = lshr i32 %38, 16
	%40 = trunc i32 %39 to i16
	%41 = select i1 %23, i16 -32768, i16 0
	%42 = or i16 %40, %41
	%43 = getelementptr i16, ptr addrspace(1) %b, i64 1
	store i16 %42, ptr addrspace(1) %43, align 2
	ret void
}

declare i64 @llvm.fptosi.sat.i64.f64(double %0)

declare i64 @llvm.fptoui.sat.i64.f32(float %0)

declare double @llvm.maximum.f64(double %0, double %1)

declare float @llvm.minimum.f32(float %0, float %1)

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
