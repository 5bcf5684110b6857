/* A guest for tests: for each connection, runs the script that it is sent, and sends back what it prints.
   The first line of the script may be a user id to become. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <grp.h>

int main(int argc, char **argv) {
    for (;;) {
        int peer = accept(3, 0, 0);
        if (peer < 0) return 1;
        static char script[65536];
        size_t length = 0;
        ssize_t got;
        while ((got = read(peer, script + length, sizeof script - 1 - length)) > 0) length += got;
        script[length] = 0;
        char *rest = strchr(script, '\n');
        if (!rest) return 2;
        *rest++ = 0;
        pid_t child = fork();
        if (child == 0) {
            dup2(peer, 1);
            dup2(peer, 2);
            close(peer);
            close(3);
            int user = atoi(script);
            if (user != 0) { setgroups(0, 0); if (setgid(user) || setuid(user)) perror("setuid"); }
            char arguments[4096] = "";
            for (int i = 0; i < argc; i++) { strcat(arguments, argv[i]); strcat(arguments, " "); }
            setenv("PATH", "/usr/bin:/usr/sbin:/bin", 1);
            setenv("GUEST", arguments, 1);
            execl("/bin/sh", "sh", "-c", rest, (char *)0);
            perror("/bin/sh");
            _exit(127);
        }
        waitpid(child, 0, 0);
        close(peer);
    }
}
