; kernel Warp for llvm:gfx1100
target triple = "amdgcn-amd-amdhsa"

@Warp_shared0 = internal addrspace(3) global [1 x i32] undef, align 16
define amdgpu_kernel void @Warp(ptr addrspace(1) noundef %x, i64 noundef %x.len, ptr addrspace(1) noundef %m, i64 noundef %m.len, i64 noundef %d) #0 {
.b0:
  %.2 = call i32 @llvm.amdgcn.workitem.id.x()
  %.1 = zext i32 %.2 to i64
  %.3 = getelementptr double, ptr addrspace(1) %x, i64 %.1
  %.4 = load double, ptr addrspace(1) %.3, align 8
  %.6 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %.7 = zext i32 %.6 to i64
  %.8 = xor i64 %.7, 16
  %.9 = icmp ult i64 %.8, 32
  %.10 = trunc i64 %.8 to i32
  %.11 = select i1 %.9, i32 %.10, i32 %.6
  %.12 = shl i32 %.11, 2
  %.13 = bitcast double %.4 to i64
  %.14 = trunc i64 %.13 to i32
  %.15 = lshr i64 %.13, 32
  %.16 = trunc i64 %.15 to i32
  %.17 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.12, i32 %.14)
  %.18 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.12, i32 %.16)
  %.19 = zext i32 %.17 to i64
  %.20 = zext i32 %.18 to i64
  %.21 = shl i64 %.20, 32
  %.22 = or i64 %.19, %.21
  %.5 = bitcast i64 %.22 to double
  %.23 = fadd double %.4, %.5
  %.25 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %.26 = zext i32 %.25 to i64
  %.27 = add i64 %.26, %d
  %.28 = icmp ult i64 %.27, 32
  %.29 = trunc i64 %.27 to i32
  %.30 = select i1 %.28, i32 %.29, i32 %.25
  %.31 = shl i32 %.30, 2
  %.32 = bitcast double %.23 to i64
  %.33 = trunc i64 %.32 to i32
  %.34 = lshr i64 %.32, 32
  %.35 = trunc i64 %.34 to i32
  %.36 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.31, i32 %.33)
  %.37 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.31, i32 %.35)
  %.38 = zext i32 %.36 to i64
  %.39 = zext i32 %.37 to i64
  %.40 = shl i64 %.39, 32
  %.41 = or i64 %.38, %.40
  %.24 = bitcast i64 %.41 to double
  %.42 = fptrunc double %.24 to float
  %.44 = trunc i64 0 to i32
  %.45 = and i32 %.44, 31
  %.46 = shl i32 %.45, 2
  %.47 = bitcast float %.42 to i32
  %.48 = call i32 @llvm.amdgcn.ds.bpermute(i32 %.46, i32 %.47)
  %.43 = bitcast i32 %.48 to float
  %.49 = fcmp olt float %.43, 0.0
  %.51 = call i32 @llvm.amdgcn.ballot.i32(i1 %.49)
  %.50 = zext i32 %.51 to i64
  %.53 = call i32 @llvm.amdgcn.ballot.i32(i1 %.49)
  %.52 = icmp ne i32 %.53, 0
  %.55 = xor i1 %.52, true
  %.56 = call i32 @llvm.amdgcn.ballot.i32(i1 %.55)
  %.54 = icmp eq i32 %.56, 0
  br i1 %.54, label %.b1, label %.b2
.b1:
  %.57 = atomicrmw add ptr addrspace(3) @Warp_shared0, i32 1 syncscope("agent") monotonic, align 4
  %.59 = cmpxchg ptr addrspace(3) @Warp_shared0, i32 %.57, i32 1 syncscope("agent") monotonic monotonic, align 4
  %.58 = extractvalue { i32, i1 } %.59, 0
  br label %.b2
.b2:
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.wave.barrier()
  fence syncscope("wavefront") acquire
  %.60 = getelementptr i64, ptr addrspace(1) %m, i64 %.1
  %.61 = atomicrmw or ptr addrspace(1) %.60, i64 %.50 syncscope("agent") monotonic, align 8
  %.62 = atomicrmw fadd ptr addrspace(1) %.3, double %.23 syncscope("agent") monotonic, align 8
  %.64 = call i32 @llvm.amdgcn.workitem.id.x()
  %.65 = call i32 @llvm.amdgcn.workitem.id.y()
  %.66 = call i32 @llvm.amdgcn.workitem.id.z()
  %.67 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %.68 = getelementptr i8, ptr addrspace(4) %.67, i64 12
  %.69 = load i16, ptr addrspace(4) %.68, align 2
  %.70 = zext i16 %.69 to i32
  %.71 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %.72 = getelementptr i8, ptr addrspace(4) %.71, i64 14
  %.73 = load i16, ptr addrspace(4) %.72, align 2
  %.74 = zext i16 %.73 to i32
  %.75 = mul i32 %.66, %.74
  %.76 = add i32 %.75, %.65
  %.77 = mul i32 %.76, %.70
  %.78 = add i32 %.77, %.64
  %.79 = lshr i32 %.78, 5
  %.63 = zext i32 %.79 to i64
  %.81 = icmp eq i64 32, 0
  %.82 = icmp eq i64 32, -1
  %.83 = or i1 %.81, %.82
  %.84 = select i1 %.83, i64 1, i64 32
  %.85 = srem i64 %.63, %.84
  %.80 = select i1 %.81, i64 %.63, i64 %.85
  %.86 = atomicrmw umax ptr addrspace(1) %.60, i64 %.80 syncscope("agent") monotonic, align 8
  ret void
}

declare i32 @llvm.amdgcn.ballot.i32(i1)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare void @llvm.amdgcn.wave.barrier()
attributes #0 = { nounwind "target-cpu"="gfx1100" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
