// Opens and uses TCP connections between ranks. Internal to lazy/distributed.
#pragma once
#include <netinet/in.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "support/fd.hpp"

namespace lazy::distributed::detail {

using Clock = std::chrono::steady_clock;

/// Returns milliseconds to wait in one poll(2): at most 1000.
int milliseconds_to(Clock::time_point deadline);
/// Makes a connection send at once, not block, and end with the process.
void prepare(int fd);

// All throw CommunicationError, also when the deadline passes before all bytes have gone.
void send_all(int fd, const void* data, size_t bytes, Clock::time_point deadline);
void receive_all(int fd, void* data, size_t bytes, Clock::time_point deadline);
/// Sends and receives a text: its length, then its bytes.
void send_text(int fd, const std::string& text, Clock::time_point deadline);
std::string receive_text(int fd, Clock::time_point deadline);

/// Listens at a port, 0 for any that is free: of the loopback interface if `host` names that, else of all.
Fd listen_at(const std::string& host, int port, int backlog);
int port_of(int fd);
Fd accept_at(int fd, Clock::time_point deadline);
/// Connects to a rank that may not listen yet.
Fd connect_to(const sockaddr_in& a, Clock::time_point deadline);
sockaddr_in address_of(const std::string& host, int port);
bool is_local(const std::string& host);

}  // namespace lazy::distributed::detail
