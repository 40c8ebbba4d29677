package asm

// The rows of vector, mask and other VEX instructions (Intel SDM, volume 2). A row
// is the name and the forms, apart by ";", of
//
//	encoding  v VEX, e EVEX, b both
//	map       1 0F, 2 0F38, 3 0F3A
//	prefix    0 none, 1 66, 2 F3, 3 F2
//	opcode    in hexadecimal, with /digit if the operation goes on in ModRM.reg
//	W         0, 1, or of VEX/of EVEX; g: 1 if the width is 64
//	operands  by commas: = written, + read and written, else read; the place: r
//	          ModRM.reg, m ModRM.rm, v vvvv, i immediate, 4 upper bits of an
//	          immediate; the class: v vector, h half and q a quarter of the width,
//	          x 128 bits, y half the width, g general, k mask; * or memory, M memory
//	          only, X memory with a vector as index, Y with one of half the width
//	tuple     what disp8 counts in: f4 f8 the vector, elements of that size can be
//	          broadcast; fm the vector; h4 hm half of it, qm a quarter; s1 to s8, t16,
//	          t32 so many bytes; g the general operand; -0 -1: VEX.L of mask operations
const rows = vectorRows + convertRows
