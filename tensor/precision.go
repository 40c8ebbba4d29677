package tensor

import "github.com/gokiln/kiln/ops/matmul"

// Precision is how many bits of F32 operands a product of matrices may leave out.
type Precision = matmul.Precision

// The precisions. They are permissions, as torch.set_float32_matmul_precision's are: a device that
// has no faster way, and products that are too small for one, are in float32. Sums always are.
const (
	Highest = matmul.Highest // none: each product and sum of float32 in one rounding
	Split   = matmul.Split   // none but by rounding, where errors are about twice those of Highest: operands are sums of three bfloat16, and infinities give NaN
	High    = matmul.High    // all but 10 bits of fraction (TF32), or 16 (sums of two bfloat16)
	Medium  = matmul.Medium  // all but 7 bits of fraction (bfloat16)
)

// SetMatMulPrecision permits products of F32 matrices that are less exact and faster, for all that
// comes after it on the device: [Tensor.MatMul], what is made of it, such as [Tensor.TensorDot] and
// [Einsum], and their gradients; sums of 8-bit floating-point numbers have fewer bits in [High] and
// below. It is [Highest] at first. Other types, convolutions, and factors of
// matrices, such as [Tensor.Cholesky], are not concerned.
func (d *Device) SetMatMulPrecision(p Precision) { d.precision.Store(int32(p)) }

// MatMulPrecision is what [Device.SetMatMulPrecision] has set.
func (d *Device) MatMulPrecision() Precision { return Precision(d.precision.Load()) }
