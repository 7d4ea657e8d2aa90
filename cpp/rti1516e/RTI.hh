// CMake's FindRTI takes this file as the sign of an RTI. Federates of 1516.1-2010, which that module
// serves too, don't include it.
#error "Starling has no HLA 1.3 API yet; federates of 1516.1-2010 include <RTI/RTI1516.h>"
