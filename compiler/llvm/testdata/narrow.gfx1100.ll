; kernel k.Narrow[int8] for llvm:gfx1100
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @k$2eNarrow$5bint8$5d(ptr addrspace(1) noundef %a, i64 noundef %a.len, ptr addrspace(1) noundef %b, i64 noundef %b.len, i8 noundef %x, i16 noundef %y, [4 x i8] %0) nounwind "target-cpu"="gfx1100" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%1 = load i8, ptr addrspace(1) %a, align 1
	%2 = add i8 %1, %x
	%3 = mul i8 %2, %2
	%4 = icmp eq i8 %x, 0
	%5 = icmp eq i8 %x, -1
	%6 = or i1 %4, %5
	%7 = select i1 %6, i8 1, i8 %x
	%8 = sdiv i8 %3, %7
	%9 = sub i8 0, %3
	%10 = select i1 %5, i8 %9, i8 %8
	%11 = select i1 %4, i8 0, i8 %10
	store i8 %11, ptr addrspace(1) %a, align 1
	%12 = load i16, ptr addrspace(1) %b, align 2
	%13 = icmp ult i16 %y, 16
	%14 = shl i16 %12, %y
	%15 = select i1 %13, i16 %14, i16 0
	%16 = urem i16 %15, 7
	%17 = udiv i16 %16, 8
	%18 = srem i8 %2, 16
	%19 = sext i8 %18 to i16
	%20 = add i16 %17, %19
	%21 = call i16 @llvm.ctlz.i16(i16 %20, i1 false)
	store i16 %21, ptr addrspace(1) %b, align 2
	ret void
}

declare i16 @llvm.ctlz.i16(i16 %0, i1 %1)

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
