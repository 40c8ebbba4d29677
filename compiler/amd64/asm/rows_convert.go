package asm

// convertRows are conversions between numbers.
var convertRows = [...]form{
	{VCVTDQ2PS, both, m0F, np, 0x5b, slashR, w0, vl, f4, args{dV, rmV}},
	{VCVTPS2DQ, both, m0F, p66, 0x5b, slashR, w0, vl, f4, args{dV, rmV}},
	{VCVTTPS2DQ, both, m0F, pF3, 0x5b, slashR, w0, vl, f4, args{dV, rmV}},
	{VCVTUDQ2PS, evex, m0F, pF2, 0x7a, slashR, w0, vl, f4, args{dV, rmV}},
	{VCVTTPS2UDQ, evex, m0F, np, 0x78, slashR, w0, vl, f4, args{dV, rmV}},
	{VCVTQQ2PD, evex, m0F, pF3, 0xe6, slashR, w1, vl, f8, args{dV, rmV}},
	{VCVTUQQ2PD, evex, m0F, pF3, 0x7a, slashR, w1, vl, f8, args{dV, rmV}},
	{VCVTQQ2PS, evex, m0F, np, 0x5b, slashR, w1, vl, f8, args{dH, rmV}},
	{VCVTUQQ2PS, evex, m0F, pF2, 0x7a, slashR, w1, vl, f8, args{dH, rmV}},
	{VCVTTPD2QQ, evex, m0F, p66, 0x7a, slashR, w1, vl, f8, args{dV, rmV}},
	{VCVTTPD2UQQ, evex, m0F, p66, 0x78, slashR, w1, vl, f8, args{dV, rmV}},
	{VCVTTPS2QQ, evex, m0F, p66, 0x7a, slashR, w0, vl, f4, args{dV, rmH}},
	{VCVTTPS2UQQ, evex, m0F, p66, 0x78, slashR, w0, vl, f4, args{dV, rmH}},
	{VCVTPS2PD, both, m0F, np, 0x5a, slashR, w0, vl, f4, args{dV, rmH}},
	{VCVTPD2PS, both, m0F, p66, 0x5a, slashR, w01, vl, f8, args{dH, rmV}},
	{VCVTDQ2PD, both, m0F, pF3, 0xe6, slashR, w0, vl, f4, args{dV, rmH}},
	{VCVTUDQ2PD, evex, m0F, pF3, 0x7a, slashR, w0, vl, f4, args{dV, rmH}},
	{VCVTTPD2DQ, both, m0F, p66, 0xe6, slashR, w01, vl, f8, args{dH, rmV}},
	{VCVTTPD2UDQ, evex, m0F, np, 0x78, slashR, w1, vl, f8, args{dH, rmV}},
	{VCVTPH2PS, both, m0F38, p66, 0x13, slashR, w0, vl, t0, args{dV, rmH}},
	{VCVTPS2PH, both, m0F3A, p66, 0x1d, slashR, w0, vl, t0, args{wmH, sR, i8}},
}
