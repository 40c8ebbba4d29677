; kernel Warp for llvm:gfx1100
target triple = "amdgcn-amd-amdhsa"

@Warp_shared0 = internal addrspace(3) global [1 x i32] undef, align 16

define amdgpu_kernel void @Warp(ptr addrspace(1) noundef %x, i64 noundef %x.len, ptr addrspace(1) noundef %m, i64 noundef %m.len, i64 noundef %d) nounwind "target-cpu"="gfx1100" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%0 = call i32 @llvm.amdgcn.workitem.id.x()
	%1 = zext i32 %0 to i64
	%2 = getelementptr double, ptr addrspace(1) %x, i64 %1
	%3 = load double, ptr addrspace(1) %2, align 8
	%4 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
	%5 = zext i32 %4 to i64
	%6 = xor i64 %5, 16
	%7 = icmp ult i64 %6, 32
	%8 = trunc i64 %6 to i32
	%9 = select i1 %7, i32 %8, i32 %4
	%10 = shl i32 %9, 2
	%11 = bitcast double %3 to i64
	%12 = trunc i64 %11 to i32
	%13 = lshr i64 %11, 32
	%14 = trunc i64 %13 to i32
	%15 = call i32 @llvm.amdgcn.ds.bpermute(i32 %10, i32 %12)
	%16 = call i32 @llvm.amdgcn.ds.bpermute(i32 %10, i32 %14)
	%17 = zext i32 %15 to i64
	%18 = zext i32 %16 to i64
	%19 = shl i64 %18, 32
	%20 = or i64 %17, %19
	%21 = bitcast i64 %20 to double
	%22 = fadd double %3, %21
	%23 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
	%24 = zext i32 %23 to i64
	%25 = add i64 %24, %d
	%26 = icmp ult i64 %25, 32
	%27 = trunc i64 %25 to i32
	%28 = select i1 %26, i32 %27, i32 %23
	%29 = shl i32 %28, 2
	%30 = bitcast double %22 to i64
	%31 = trunc i64 %30 to i32
	%32 = lshr i64 %30, 32
	%33 = trunc i64 %32 to i32
	%34 = call i32 @llvm.amdgcn.ds.bpermute(i32 %29, i32 %31)
	%35 = call i32 @llvm.amdgcn.ds.bpermute(i32 %29, i32 %33)
	%36 = zext i32 %34 to i64
	%37 = zext i32 %35 to i64
	%38 = shl i64 %37, 32
	%39 = or i64 %36, %38
	%40 = bitcast i64 %39 to double
	%41 = fptrunc double %40 to float
	%42 = trunc i64 0 to i32
	%43 = and i32 %42, 31
	%44 = shl i32 %43, 2
	%45 = bitcast float %41 to i32
	%46 = call i32 @llvm.amdgcn.ds.bpermute(i32 %44, i32 %45)
	%47 = bitcast i32 %46 to float
	%48 = fcmp olt float %47, 0.0
	%49 = call i32 @llvm.amdgcn.ballot.i32(i1 %48)
	%50 = zext i32 %49 to i64
	%51 = call i32 @llvm.amdgcn.ballot.i32(i1 %48)
	%52 = icmp ne i32 %51, 0
	%53 = xor i1 %52, true
	%54 = call i32 @llvm.amdgcn.ballot.i32(i1 %53)
	%55 = icmp eq i32 %54, 0
	br i1 %55, label %.b1, label %.b2

.b1:
	%56 = atomicrmw add ptr addrspace(3) @Warp_shared0, i32 1 syncscope("agent") monotonic
	%57 = cmpxchg ptr addrspace(3) @Warp_shared0, i32 %56, i32 1 syncscope("agent") monotonic monotonic
	%58 = extractvalue { i32, i1 } %57, 0
	br label %.b2

.b2:
	fence syncscope("wavefront") release
	call void @llvm.amdgcn.wave.barrier()
	fence syncscope("wavefront") acquire
	%59 = getelementptr i64, ptr addrspace(1) %m, i64 %1
	%60 = atomicrmw or ptr addrspace(1) %59, i64 %50 syncscope("agent") monotonic
	%61 = atomicrmw fadd ptr addrspace(1) %2, double %22 syncscope("agent") monotonic
	%62 = call i32 @llvm.amdgcn.workitem.id.x()
	%63 = call i32 @llvm.amdgcn.workitem.id.y()
	%64 = call i32 @llvm.amdgcn.workitem.id.z()
	%65 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
	%66 = getelementptr i8, ptr addrspace(4) %65, i64 12
	%67 = load i16, ptr addrspace(4) %66, align 2
	%68 = zext i16 %67 to i32
	%69 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
	%70 = getelementptr i8, ptr addrspace(4) %69, i64 14
	%71 = load i16, ptr addrspace(4) %70, align 2
	%72 = zext i16 %71 to i32
	%73 = mul i32 %64, %72
	%74 = add i32 %73, %63
	%75 = mul i32 %74, %68
	%76 = add i32 %75, %62
	%77 = lshr i32 %76, 5
	%78 = zext i32 %77 to i64
	%79 = icmp eq i64 32, 0
	%80 = icmp eq i64 32, -1
	%81 = or i1 %79, %80
	%82 = select i1 %81, i64 1, i64 32
	%83 = srem i64 %78, %82
	%84 = select i1 %79, i64 %78, i64 %83
	%85 = atomicrmw umax ptr addrspace(1) %59, i64 %84 syncscope("agent") monotonic
	ret void
}

declare i32 @llvm.amdgcn.ballot.i32(i1 %0)

declare i32 @llvm.amdgcn.ds.bpermute(i32 %0, i32 %1)

declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()

declare i32 @llvm.amdgcn.mbcnt.lo(i32 %0, i32 %1)

declare void @llvm.amdgcn.wave.barrier()

declare i32 @llvm.amdgcn.workitem.id.x()

declare i32 @llvm.amdgcn.workitem.id.y()

declare i32 @llvm.amdgcn.workitem.id.z()

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
