; kernel Warp for llvm:sm_90
target triple = "nvptx64-nvidia-cuda"

@Warp_shared0 = internal addrspace(3) global [1 x i32] undef, align 16
define ptx_kernel void @Warp(ptr addrspace(1) noundef %x, i64 noundef %x.len, ptr addrspace(1) noundef %m, i64 noundef %m.len, i64 noundef %d) #0 {
.b0:
  %.2 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %.1 = zext i32 %.2 to i64
  %.3 = getelementptr double, ptr addrspace(1) %x, i64 %.1
  %.4 = load double, ptr addrspace(1) %.3, align 8
  %.6 = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %.7 = zext i32 %.6 to i64
  %.8 = xor i64 %.7, 16
  %.9 = icmp ult i64 %.8, 32
  %.10 = trunc i64 %.8 to i32
  %.11 = select i1 %.9, i32 %.10, i32 %.6
  %.12 = bitcast double %.4 to i64
  %.13 = trunc i64 %.12 to i32
  %.14 = lshr i64 %.12, 32
  %.15 = trunc i64 %.14 to i32
  %.16 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %.13, i32 %.11, i32 31)
  %.17 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %.15, i32 %.11, i32 31)
  %.18 = zext i32 %.16 to i64
  %.19 = zext i32 %.17 to i64
  %.20 = shl i64 %.19, 32
  %.21 = or i64 %.18, %.20
  %.5 = bitcast i64 %.21 to double
  %.22 = fadd double %.4, %.5
  %.24 = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %.25 = zext i32 %.24 to i64
  %.26 = add i64 %.25, %d
  %.27 = icmp ult i64 %.26, 32
  %.28 = trunc i64 %.26 to i32
  %.29 = select i1 %.27, i32 %.28, i32 %.24
  %.30 = bitcast double %.22 to i64
  %.31 = trunc i64 %.30 to i32
  %.32 = lshr i64 %.30, 32
  %.33 = trunc i64 %.32 to i32
  %.34 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %.31, i32 %.29, i32 31)
  %.35 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %.33, i32 %.29, i32 31)
  %.36 = zext i32 %.34 to i64
  %.37 = zext i32 %.35 to i64
  %.38 = shl i64 %.37, 32
  %.39 = or i64 %.36, %.38
  %.23 = bitcast i64 %.39 to double
  %.40 = fptrunc double %.23 to float
  %.42 = trunc i64 0 to i32
  %.43 = and i32 %.42, 31
  %.44 = bitcast float %.40 to i32
  %.45 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %.44, i32 %.43, i32 31)
  %.41 = bitcast i32 %.45 to float
  %.46 = fcmp olt float %.41, 0.0
  %.48 = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %.46)
  %.47 = zext i32 %.48 to i64
  %.49 = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %.46)
  %.50 = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %.49)
  br i1 %.50, label %.b1, label %.b2
.b1:
  %.51 = atomicrmw add ptr addrspace(3) @Warp_shared0, i32 1 syncscope("device") monotonic, align 4
  %.53 = cmpxchg ptr addrspace(3) @Warp_shared0, i32 %.51, i32 1 syncscope("device") monotonic monotonic, align 4
  %.52 = extractvalue { i32, i1 } %.53, 0
  br label %.b2
.b2:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %.54 = getelementptr i64, ptr addrspace(1) %m, i64 %.1
  %.55 = atomicrmw or ptr addrspace(1) %.54, i64 %.47 syncscope("device") monotonic, align 8
  %.56 = atomicrmw fadd ptr addrspace(1) %.3, double %.22 syncscope("device") monotonic, align 8
  %.58 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %.59 = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %.60 = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %.61 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %.62 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %.63 = mul i32 %.60, %.62
  %.64 = add i32 %.63, %.59
  %.65 = mul i32 %.64, %.61
  %.66 = add i32 %.65, %.58
  %.67 = lshr i32 %.66, 5
  %.57 = zext i32 %.67 to i64
  %.69 = icmp eq i64 32, 0
  %.70 = icmp eq i64 32, -1
  %.71 = or i1 %.69, %.70
  %.72 = select i1 %.71, i64 1, i64 32
  %.73 = srem i64 %.57, %.72
  %.68 = select i1 %.69, i64 %.57, i64 %.73
  %.74 = atomicrmw umax ptr addrspace(1) %.54, i64 %.68 syncscope("device") monotonic, align 8
  ret void
}

declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare void @llvm.nvvm.bar.warp.sync(i32)
attributes #0 = { nounwind "target-cpu"="sm_90" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
