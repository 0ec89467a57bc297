/* libjpeg-turbo's version text. */
#define JVERSION         "6b  27-Mar-1998"
#define JCOPYRIGHT1      ""
#define JCOPYRIGHT2      ""
#define JCOPYRIGHT_SHORT ""
