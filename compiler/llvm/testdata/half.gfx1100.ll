; kernel Half for llvm:gfx1100
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @Half(ptr addrspace(1) noundef %b, i64 noundef %b.len, ptr addrspace(1) noundef %h, i64 noundef %h.len, ptr addrspace(1) noundef %i, i64 noundef %i.len) #0 {
.b0:
  %.1 = load i16, ptr addrspace(1) %b, align 2
  %.3 = zext i16 %.1 to i32
  %.4 = shl i32 %.3, 16
  %.2 = bitcast i32 %.4 to float
  %.5 = load i16, ptr addrspace(1) %h, align 2
  %.7 = bitcast i16 %.5 to half
  %.6 = fpext half %.7 to float
  %.8 = call float @llvm.minimum.f32(float %.2, float %.6)
  %.10 = bitcast float %.8 to i32
  %.11 = fcmp uno float %.8, 0.0
  %.12 = lshr i32 %.10, 16
  %.13 = and i32 %.12, 1
  %.14 = add i32 %.10, 32767
  %.15 = add i32 %.14, %.13
  %.16 = lshr i32 %.15, 16
  %.17 = trunc i32 %.16 to i16
  %.9 = select i1 %.11, i16 32704, i16 %.17
  store i16 %.9, ptr addrspace(1) %b, align 2
  %.18 = fpext float %.8 to double
  %.19 = fpext float %.6 to double
  %.20 = call double @llvm.maximum.f64(double %.18, double %.19)
  %.22 = fptrunc double %.20 to half
  %.21 = bitcast half %.22 to i16
  store i16 %.21, ptr addrspace(1) %h, align 2
  %.23 = call i64 @llvm.fptosi.sat.i64.f64(double %.20)
  store i64 %.23, ptr addrspace(1) %i, align 8
  %.25 = icmp slt i64 %.23, 0
  %.26 = sub i64 0, %.23
  %.27 = select i1 %.25, i64 %.26, i64 %.23
  %.28 = uitofp i64 %.27 to float
  %.29 = call i64 @llvm.fptoui.sat.i64.f32(float %.28)
  %.30 = icmp ugt i64 %.29, %.27
  %.31 = icmp ne i64 %.29, %.27
  %.32 = bitcast float %.28 to i32
  %.33 = zext i1 %.30 to i32
  %.34 = sub i32 %.32, %.33
  %.35 = zext i1 %.31 to i32
  %.36 = or i32 %.34, %.35
  %.37 = lshr i32 %.36, 16
  %.38 = and i32 %.37, 1
  %.39 = add i32 %.36, 32767
  %.40 = add i32 %.39, %.38
  %.41 = lshr i32 %.40, 16
  %.42 = trunc i32 %.41 to i16
  %.43 = select i1 %.25, i16 -32768, i16 0
  %.24 = or i16 %.42, %.43
  %.44 = getelementptr i16, ptr addrspace(1) %b, i64 1
  store i16 %.24, ptr addrspace(1) %.44, align 2
  ret void
}

declare double @llvm.maximum.f64(double, double)
declare float @llvm.minimum.f32(float, float)
declare i64 @llvm.fptosi.sat.i64.f64(double)
declare i64 @llvm.fptoui.sat.i64.f32(float)
attributes #0 = { nounwind "target-cpu"="gfx1100" "amdgpu-flat-work-group-size"="1,1024" "uniform-work-group-size"="true" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
