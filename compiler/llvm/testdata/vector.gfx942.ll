; kernel Vector for llvm:gfx942
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @Vector(ptr addrspace(1) noundef noalias align 16 %out, i64 noundef %out.len, ptr addrspace(1) noundef noalias readonly align 16 %in, i64 noundef %in.len) #0 {
.b0:
  %.3 = call i32 @llvm.amdgcn.workitem.id.x()
  %.2 = zext i32 %.3 to i64
  %.4 = mul i64 %.2, 4
  br label %.b1
.b1:
  %.1 = phi i64 [ %.4, %.b0 ], [ %.21, %.b2 ]
  %.5 = icmp slt i64 %.1, %out.len
  br i1 %.5, label %.b2, label %.b3
.b2:
  %.6 = getelementptr float, ptr addrspace(1) %in, i64 %.1
  %.7 = load float, ptr addrspace(1) %.6, align 4
  %.8 = add i64 %.1, 1
  %.9 = getelementptr float, ptr addrspace(1) %in, i64 %.8
  %.10 = load float, ptr addrspace(1) %.9, align 4
  %.11 = add i64 %.1, 2
  %.12 = getelementptr float, ptr addrspace(1) %in, i64 %.11
  %.13 = load float, ptr addrspace(1) %.12, align 4
  %.14 = add i64 %.1, 3
  %.15 = getelementptr float, ptr addrspace(1) %in, i64 %.14
  %.16 = load float, ptr addrspace(1) %.15, align 4
  %.17 = getelementptr float, ptr addrspace(1) %out, i64 %.1
  store float %.7, ptr addrspace(1) %.17, align 4
  %.18 = getelementptr float, ptr addrspace(1) %out, i64 %.8
  store float %.10, ptr addrspace(1) %.18, align 4
  %.19 = getelementptr float, ptr addrspace(1) %out, i64 %.11
  store float %.13, ptr addrspace(1) %.19, align 4
  %.20 = getelementptr float, ptr addrspace(1) %out, i64 %.14
  store float %.16, ptr addrspace(1) %.20, align 4
  %.21 = add i64 %.1, 256
  br label %.b1
.b3:
  %.22 = load float, ptr addrspace(1) %out, align 4
  %.23 = getelementptr float, ptr addrspace(1) %out, i64 1
  store float %.22, ptr addrspace(1) %.23, align 4
  %.24 = load float, ptr addrspace(1) %.23, align 4
  %.25 = getelementptr float, ptr addrspace(1) %out, i64 2
  %.26 = load float, ptr addrspace(1) %.25, align 4
  %.27 = fadd float %.24, %.26
  store float %.27, ptr addrspace(1) %.25, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { nounwind "target-cpu"="gfx942" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
