; kernel Scale for llvm:gfx1100
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @Scale(ptr addrspace(1) noundef %x, i64 noundef %x.len, float noundef %a, [4 x i8] %.pad1) #0 {
.b0:
  %.3 = call i32 @llvm.amdgcn.workgroup.id.x()
  %.2 = zext i32 %.3 to i64
  %.5 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %.6 = getelementptr i8, ptr addrspace(4) %.5, i64 12
  %.7 = load i16, ptr addrspace(4) %.6, align 2
  %.4 = zext i16 %.7 to i64
  %.8 = mul i64 %.2, %.4
  %.10 = call i32 @llvm.amdgcn.workitem.id.x()
  %.9 = zext i32 %.10 to i64
  %.11 = add i64 %.8, %.9
  br label %.b1
.b1:
  %.1 = phi i64 [ %.11, %.b0 ], [ %.22, %.l1 ]
  %.12 = icmp slt i64 %.1, %x.len
  ; k/scale.go:12
  br i1 %.12, label %.b2, label %.b3
.b2:
  ; k/scale.go:13
  %.13 = icmp ult i64 %.1, %x.len
  br i1 %.13, label %.l1, label %.l2
.l2:
  call void @llvm.trap()
  unreachable
.l1:
  %.14 = getelementptr float, ptr addrspace(1) %x, i64 %.1
  %.15 = load float, ptr addrspace(1) %.14, align 4
  %.16 = fmul float %.15, %a
  store float %.16, ptr addrspace(1) %.14, align 4
  %.18 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %.19 = getelementptr i32, ptr addrspace(4) %.18, i64 0
  %.20 = load i32, ptr addrspace(4) %.19, align 4
  %.17 = zext i32 %.20 to i64
  %.21 = mul i64 %.17, %.4
  %.22 = add i64 %.1, %.21
  br label %.b1
.b3:
  ret void
}

declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare void @llvm.trap()
attributes #0 = { nounwind "target-cpu"="gfx1100" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
