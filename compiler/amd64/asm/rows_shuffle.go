package asm

// shuffleRows are permutations, blends and parts of vectors.
var shuffleRows = [...]form{
	{VPSHUFB, both, m0F38, p66, 0x00, slashR, w0, vl, t0, args{dV, sV, rmV}},
	{VSHUFPS, both, m0F, np, 0xc6, slashR, w0, vl, f4, args{dV, sV, rmV, i8}},
	{VPERMD, both, m0F38, p66, 0x36, slashR, w0, v256 | v512, f4, args{dV, sV, rmV}},
	{VPERMQ, both, m0F3A, p66, 0x00, slashR, w1, v256 | v512, f8, args{dV, rmV, i8}},
	{VPERMQ, evex, m0F38, p66, 0x36, slashR, w1, v256 | v512, f8, args{dV, sV, rmV}},
	{VPERMI2Q, evex, m0F38, p66, 0x76, slashR, w1, vl, f8, args{xV, sV, rmV}},
	{VINSERTI128, vex, m0F3A, p66, 0x38, slashR, w0, v256, t0, args{dV, sV, rmX, i8}},
	{VEXTRACTI128, vex, m0F3A, p66, 0x39, slashR, w0, v256, t0, args{wmX, sR, i8}},
	{VEXTRACTI32X4, evex, m0F3A, p66, 0x39, slashR, w0, v256 | v512, t0, args{wmX, sR, i8}},
	{VINSERTI64X4, evex, m0F3A, p66, 0x3a, slashR, w1, v512, t0, args{dV, sV, rmH, i8}},
	{VEXTRACTI64X4, evex, m0F3A, p66, 0x3b, slashR, w1, v512, t0, args{wmH, sR, i8}},
	{VPUNPCKLDQ, both, m0F, p66, 0x62, slashR, w0, vl, f4, args{dV, sV, rmV}},
	{VPUNPCKHDQ, both, m0F, p66, 0x6a, slashR, w0, vl, f4, args{dV, sV, rmV}},
	{VPUNPCKHQDQ, both, m0F, p66, 0x6d, slashR, w01, vl, f8, args{dV, sV, rmV}},
	{VPACKUSDW, both, m0F38, p66, 0x2b, slashR, w0, vl, f4, args{dV, sV, rmV}},
	{VBLENDVPS, vex, m0F3A, p66, 0x4a, slashR, w0, vl, t0, args{dV, sV, rmV, is4}},
	{VBLENDVPD, vex, m0F3A, p66, 0x4b, slashR, w0, vl, t0, args{dV, sV, rmV, is4}},
	{VPBLENDW, vex, m0F3A, p66, 0x0e, slashR, w0, vl, t0, args{dV, sV, rmV, i8}},
	{VPBLENDD, vex, m0F3A, p66, 0x02, slashR, w0, vl, t0, args{dV, sV, rmV, i8}},
	{VPBLENDMD, evex, m0F38, p66, 0x64, slashR, w0, vl, f4, args{dV, sV, rmV}},
	{VPBLENDMQ, evex, m0F38, p66, 0x64, slashR, w1, vl, f8, args{dV, sV, rmV}},
}
