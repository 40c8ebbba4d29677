; kernel Struct for llvm:sm_90
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @Struct(ptr addrspace(1) noundef %x, i64 noundef %x.len, i8 noundef %c.0, i64 noundef %c.1, i8 noundef %c.2, [7 x i8] %.pad1, float noundef %c.3, i64 noundef %c.4, i8 noundef %b, [7 x i8] %.pad2) #0 {
.b0:
  %.1 = icmp ne i8 %c.2, 0
  %.2 = sext i8 %c.0 to i64
  %.3 = add i64 %.2, %c.1
  %.4 = call i64 @llvm.fptosi.sat.i64.f32(float %c.3)
  %.5 = select i1 %.1, i64 %.3, i64 %.4
  %.6 = zext i8 %b to i64
  %.7 = add i64 %.5, %.6
  %.8 = add i64 %.7, 8
  store i64 %.8, ptr addrspace(1) %x, align 8
  ret void
}

declare i64 @llvm.fptosi.sat.i64.f32(float)
attributes #0 = { nounwind "target-cpu"="sm_90" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" }
