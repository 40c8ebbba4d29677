; kernel Warp for llvm:gfx942
target triple = "amdgcn-amd-amdhsa"

@Warp_shared0 = internal addrspace(3) global [1 x i32] undef, align 16

define amdgpu_kernel void @Warp(ptr addrspace(1) noundef %x, i64 noundef %x.len, ptr addrspace(1) noundef %m, i64 noundef %m.len, i64 noundef %d) nounwind "target-cpu"="gfx942" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%0 = call i32 @llvm.amdgcn.workitem.id.x()
	%1 = zext i32 %0 to i64
	%2 = getelementptr double, ptr addrspace(1) %x, i64 %1
	%3 = load double, ptr addrspace(1) %2, align 8
	%4 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
	%5 = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %4)
	%6 = zext i32 %5 to i64
	%7 = xor i64 %6, 16
	%8 = icmp ult i64 %7, 64
	%9 = trunc i64 %7 to i32
	%10 = select i1 %8, i32 %9, i32 %5
	%11 = shl i32 %10, 2
	%12 = bitcast double %3 to i64
	%13 = trunc i64 %12 to i32
	%14 = lshr i64 %12, 32
	%15 = trunc i64 %14 to i32
	%16 = call i32 @llvm.amdgcn.ds.bpermute(i32 %11, i32 %13)
	%17 = call i32 @llvm.amdgcn.ds.bpermute(i32 %11, i32 %15)
	%18 = zext i32 %16 to i64
	%19 = zext i32 %17 to i64
	%20 = shl i64 %19, 32
	%21 = or i64 %18, %20
	%22 = bitcast i64 %21 to double
	%23 = fadd double %3, %22
	%24 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
	%25 = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %24)
	%26 = zext i32 %25 to i64
	%27 = add i64 %26, %d
	%28 = icmp ult i64 %27, 64
	%29 = trunc i64 %27 to i32
	%30 = select i1 %28, i32 %29, i32 %25
	%31 = shl i32 %30, 2
	%32 = bitcast double %23 to i64
	%33 = trunc i64 %32 to i32
	%34 = lshr i64 %32, 32
	%35 = trunc i64 %34 to i32
	%36 = call i32 @llvm.amdgcn.ds.bpermute(i32 %31, i32 %33)
	%37 = call i32 @llvm.amdgcn.ds.bpermute(i32 %31, i32 %35)
	%38 = zext i32 %36 to i64
	%39 = zext i32 %37 to i64
	%40 = shl i64 %39, 32
	%41 = or i64 %38, %40
	%42 = bitcast i64 %41 to double
	%43 = fptrunc double %42 to float
	%44 = trunc i64 0 to i32
	%45 = and i32 %44, 63
	%46 = shl i32 %45, 2
	%47 = bitcast float %43 to i32
	%48 = call i32 @llvm.amdgcn.ds.bpermute(i32 %46, i32 %47)
	%49 = bitcast i32 %48 to float
	%50 = fcmp olt float %49, 0.0
	%51 = call i64 @llvm.amdgcn.ballot.i64(i1 %50)
	%52 = call i64 @llvm.amdgcn.ballot.i64(i1 %50)
	%53 = icmp ne i64 %52, 0
	%54 = xor i1 %53, true
	%55 = call i64 @llvm.amdgcn.ballot.i64(i1 %54)
	%56 = icmp eq i64 %55, 0
	br i1 %56, label %.b1, label %.b2

.b1:
	%57 = atomicrmw add ptr addrspace(3) @Warp_shared0, i32 1 syncscope("agent") monotonic
	%58 = cmpxchg ptr addrspace(3) @Warp_shared0, i32 %57, i32 1 syncscope("agent") monotonic monotonic
	%59 = extractvalue { i32, i1 } %58, 0
	br label %.b2

.b2:
	fence syncscope("wavefront") release
	call void @llvm.amdgcn.wave.barrier()
	fence syncscope("wavefront") acquire
	%60 = getelementptr i64, ptr addrspace(1) %m, i64 %1
	%61 = atomicrmw or ptr addrspace(1) %60, i64 %51 syncscope("agent") monotonic
	%62 = atomicrmw fadd ptr addrspace(1) %2, double %23 syncscope("agent") monotonic
	%63 = call i32 @llvm.amdgcn.workitem.id.x()
	%64 = call i32 @llvm.amdgcn.workitem.id.y()
	%65 = call i32 @llvm.amdgcn.workitem.id.z()
	%66 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
	%67 = getelementptr i8, ptr addrspace(4) %66, i64 12
	%68 = load i16, ptr addrspace(4) %67, align 2
	%69 = zext i16 %68 to i32
	%70 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
	%71 = getelementptr i8, ptr addrspace(4) %70, i64 14
	%72 = load i16, ptr addrspace(4) %71, align 2
	%73 = zext i16 %72 to i32
	%74 = mul i32 %65, %73
	%75 = add i32 %74, %64
	%76 = mul i32 %75, %69
	%77 = add i32 %76, %63
	%78 = lshr i32 %77, 6
	%79 = zext i32 %78 to i64
	%80 = icmp eq i64 64, 0
	%81 = icmp eq i64 64, -1
	%82 = or i1 %80, %81
	%83 = select i1 %82, i64 1, i64 64
	%84 = srem i64 %79, %83
	%85 = select i1 %80, i64 %79, i64 %84
	%86 = atomicrmw umax ptr addrspace(1) %60, i64 %85 syncscope("agent") monotonic
	ret void
}

declare i64 @llvm.amdgcn.ballot.i64(i1 %0)

declare i32 @llvm.amdgcn.ds.bpermute(i32 %0, i32 %1)

declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()

declare i32 @llvm.amdgcn.mbcnt.hi(i32 %0, i32 %1)

declare i32 @llvm.amdgcn.mbcnt.lo(i32 %0, i32 %1)

declare void @llvm.amdgcn.wave.barrier()

declare i32 @llvm.amdgcn.workitem.id.x()

declare i32 @llvm.amdgcn.workitem.id.y()

declare i32 @llvm.amdgcn.workitem.id.z()

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
