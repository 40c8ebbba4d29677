// Package operand checks the operands of the functions below nn.
package operand
