; kernel Memory for llvm:gfx942
target triple = "amdgcn-amd-amdhsa"

@Memory_shared0 = internal addrspace(3) global [1056 x float] undef, align 16
@Memory_shared2 = internal addrspace(3) global [16 x i8] undef, align 16
define amdgpu_kernel void @Memory(ptr addrspace(1) noundef %x, i64 noundef %x.len, i64 noundef %i) #0 {
.b0:
  %.local1 = alloca [300 x float], align 16, addrspace(5)
  %.local2 = alloca [5 x i8], align 16, addrspace(5)
  %.1 = getelementptr [12 x i8], ptr addrspace(1) %x, i64 2
  %.2 = getelementptr i8, ptr addrspace(1) %.1, i64 4
  %.3 = add i64 %i, 2
  %.4 = getelementptr i16, ptr addrspace(1) %.2, i64 %.3
  %.5 = load i16, ptr addrspace(1) %.4, align 2
  %.6 = sitofp i16 %.5 to float
  %.8 = call i32 @llvm.amdgcn.workitem.id.x()
  %.7 = zext i32 %.8 to i64
  %.9 = getelementptr [132 x i8], ptr addrspace(3) @Memory_shared0, i64 %.7
  %.10 = getelementptr float, ptr addrspace(3) %.9, i64 %i
  store float %.6, ptr addrspace(3) %.10, align 4
  call void @llvm.memset.p3.i64(ptr addrspace(3) align 8 @Memory_shared2, i8 0, i64 16, i1 false)
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %.11 = getelementptr [132 x i8], ptr addrspace(3) @Memory_shared0, i64 2
  %.12 = getelementptr float, ptr addrspace(3) %.11, i64 %.7
  %.14 = load float, ptr addrspace(3) %.12, align 4
  %.13 = freeze float %.14
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 4 %.local1, i8 0, i64 1200, i1 false)
  %.15 = getelementptr float, ptr addrspace(5) %.local1, i64 %i
  store float %.13, ptr addrspace(5) %.15, align 4
  %.16 = getelementptr float, ptr addrspace(5) %.local1, i64 2
  %.18 = load float, ptr addrspace(5) %.16, align 4
  %.17 = freeze float %.18
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 1 %.local2, i8 0, i64 5, i1 false)
  %.19 = getelementptr i8, ptr addrspace(5) %.local2, i64 %i
  %.21 = load i8, ptr addrspace(5) %.19, align 1
  %.20 = freeze i8 %.21
  %.22 = uitofp i8 %.20 to float
  %.23 = fadd float %.17, %.22
  %.24 = getelementptr [12 x i8], ptr addrspace(1) %x, i64 1000000000000
  store float %.23, ptr addrspace(1) %.24, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.memset.p3.i64(ptr addrspace(3), i8, i64, i1)
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
attributes #0 = { nounwind "target-cpu"="gfx942" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
