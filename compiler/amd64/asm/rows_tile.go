package asm

// tileRows are the instructions of AMX-TILE, AMX-BF16 and AMX-INT8.
var tileRows = [...]form{
	{LDTILECFG, vex, m0F38, np, 0x49, slash0, w0, anyWidth, t0, args{mT}},
	{TILERELEASE, vex, m0F38, np, 0x49, slash0, w0, anyWidth, t0, args{}},
	{TILEZERO, vex, m0F38, pF2, 0x49, slashR, w0, anyWidth, t0, args{dT}},
	{TILELOADD, vex, m0F38, pF2, 0x4b, slashR, w0, anyWidth, sibmem, args{dT, mT}},
	{TILESTORED, vex, m0F38, pF3, 0x4b, slashR, w0, anyWidth, sibmem, args{wmT, dT}},
	{TDPBF16PS, vex, m0F38, pF3, 0x5c, slashR, w0, anyWidth, distinct, args{dT, aT, bT}},
	{TDPBSSD, vex, m0F38, pF2, 0x5e, slashR, w0, anyWidth, distinct, args{dT, aT, bT}},
	{TDPBUUD, vex, m0F38, np, 0x5e, slashR, w0, anyWidth, distinct, args{dT, aT, bT}},
}
