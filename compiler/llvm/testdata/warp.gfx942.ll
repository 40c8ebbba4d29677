; kernel Warp for llvm:gfx942
target triple = "amdgcn-amd-amdhsa"

@Warp_shared0 = internal addrspace(3) global [1 x i32] undef, align 16
define amdgpu_kernel void @Warp(ptr addrspace(1) noundef %x, i64 noundef %x.len, ptr addrspace(1) noundef %m, i64 noundef %m.len, i64 noundef %d) #0 {
.b0:
  %.2 = call i32 @llvm.amdgcn.workitem.id.x()
  %.1 = zext i32 %.2 to i64
  %.3 = getelementptr double, ptr addrspace(1) %x, i64 %.1
  %.4 = load double, ptr addrspace(1) %.3, align 8
  %.6 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %.7 = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %.6)
  %.8 = zext i32 %.7 to i64
  %.9 = xor i64 %.8, 16
  %.10 = icmp ult i64 %.9, 64
  %.11 = trunc i64 %.9 to i32
  %.12 = select i1 %.10, i32 %.11, i32 %.7
  %.13 = shl i32 %.12, 2
  %.14 = bitcast double %.4 to i64
  %.15 = trunc i64 %.14 to i32
  %.16 = lshr i64 %.14, 32
  %.17 = trunc i64 %.16 to i32
  %.18 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.13, i32 %.15)
  %.19 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.13, i32 %.17)
  %.20 = zext i32 %.18 to i64
  %.21 = zext i32 %.19 to i64
  %.22 = shl i64 %.21, 32
  %.23 = or i64 %.20, %.22
  %.5 = bitcast i64 %.23 to double
  %.24 = fadd double %.4, %.5
  %.26 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %.27 = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %.26)
  %.28 = zext i32 %.27 to i64
  %.29 = add i64 %.28, %d
  %.30 = icmp ult i64 %.29, 64
  %.31 = trunc i64 %.29 to i32
  %.32 = select i1 %.30, i32 %.31, i32 %.27
  %.33 = shl i32 %.32, 2
  %.34 = bitcast double %.24 to i64
  %.35 = trunc i64 %.34 to i32
  %.36 = lshr i64 %.34, 32
  %.37 = trunc i64 %.36 to i32
  %.38 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.33, i32 %.35)
  %.39 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.33, i32 %.37)
  %.40 = zext i32 %.38 to i64
  %.41 = zext i32 %.39 to i64
  %.42 = shl i64 %.41, 32
  %.43 = or i64 %.40, %.42
  %.25 = bitcast i64 %.43 to double
  %.44 = fptrunc double %.25 to float
  %.46 = trunc i64 0 to i32
  %.47 = and i32 %.46, 63
  %.48 = shl i32 %.47, 2
  %.49 = bitcast float %.44 to i32
  %.50 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.48, i32 %.49)
  %.45 = bitcast i32 %.50 to float
  %.51 = fcmp olt float %.45, 0.0
  %.52 = call i64 @llvm.amdgcn.ballot.i64(i1 %.51)
  %.54 = call i64 @llvm.amdgcn.ballot.i64(i1 %.51)
  %.53 = icmp ne i64 %.54, 0
  %.56 = xor i1 %.53, true
  %.57 = call i64 @llvm.amdgcn.ballot.i64(i1 %.56)
  %.55 = icmp eq i64 %.57, 0
  br i1 %.55, label %.b1, label %.b2
.b1:
  %.58 = atomicrmw add ptr addrspace(3) @Warp_shared0, i32 1 syncscope("agent") monotonic, align 4
  %.60 = cmpxchg ptr addrspace(3) @Warp_shared0, i32 %.58, i32 1 syncscope("agent") monotonic monotonic, align 4
  %.59 = extractvalue { i32, i1 } %.60, 0
  br label %.b2
.b2:
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.wave.barrier()
  fence syncscope("wavefront") acquire
  %.61 = getelementptr i64, ptr addrspace(1) %m, i64 %.1
  %.62 = atomicrmw or ptr addrspace(1) %.61, i64 %.52 syncscope("agent") monotonic, align 8
  %.63 = atomicrmw fadd ptr addrspace(1) %.3, double %.24 syncscope("agent") monotonic, align 8
  %.65 = call i32 @llvm.amdgcn.workitem.id.x()
  %.66 = call i32 @llvm.amdgcn.workitem.id.y()
  %.67 = call i32 @llvm.amdgcn.workitem.id.z()
  %.68 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %.69 = getelementptr i8, ptr addrspace(4) %.68, i64 12
  %.70 = load i16, ptr addrspace(4) %.69, align 2
  %.71 = zext i16 %.70 to i32
  %.72 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %.73 = getelementptr i8, ptr addrspace(4) %.72, i64 14
  %.74 = load i16, ptr addrspace(4) %.73, align 2
  %.75 = zext i16 %.74 to i32
  %.76 = mul i32 %.67, %.75
  %.77 = add i32 %.76, %.66
  %.78 = mul i32 %.77, %.71
  %.79 = add i32 %.78, %.65
  %.80 = lshr i32 %.79, 6
  %.64 = zext i32 %.80 to i64
  %.82 = icmp eq i64 64, 0
  %.83 = icmp eq i64 64, -1
  %.84 = or i1 %.82, %.83
  %.85 = select i1 %.84, i64 1, i64 64
  %.86 = srem i64 %.64, %.85
  %.81 = select i1 %.82, i64 %.64, i64 %.86
  %.87 = atomicrmw umax ptr addrspace(1) %.61, i64 %.81 syncscope("agent") monotonic, align 8
  ret void
}

declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare void @llvm.amdgcn.wave.barrier()
attributes #0 = { nounwind "target-cpu"="gfx942" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
